"""Chapter 10: its words, its training, and the stack that writes token by token."""

import ast
import io
from itertools import islice

import numpy as np
import pytest

from autograder.chapter.chapter import read_chapter
from autograder.exercises.project.failed_runs import BANK, BUGS, log_of
from autograder.exercises.project.make_failed_runs import SHOWN, logged_run
from autograder.exercises.project.make_words import SHIPPED, WITHHELD, families, possible_bases
from autograder.release import bundle
from solutions import language_model, letters_to_sounds, project
from solutions.parameters import count, flatten, initialise, load, map_tree, unflatten
from solutions.pronunciations import (
    BOS,
    EOS,
    PAD,
    SEP,
    VOCABULARY,
    encode,
    load_words,
    pairs,
    spelled,
    texts_of,
    token_counts,
)
from solutions.training import zero_moments


@pytest.fixture(scope="module")
def words():
    return load_words(SHIPPED) | load_words(WITHHELD)


def spellings(words):
    return [spelled(row) for row in words.letters]


def test_the_shipped_words_have_no_relative_among_the_withheld_ones(words):
    assert {part: len(rows.letters) for part, rows in words.items()} == {
        "known": 98_317, "held_out": 2_000, "held_out_families": 2_000, "withheld": 4_000,
    }  # fmt: skip
    part_of = {word: part for part, rows in words.items() for word in spellings(rows)}
    assert len(part_of) == 106_317
    for family in families(sorted(part_of)):
        parts = {part_of[word] for word in family}
        assert len(parts) == 1 or parts == {"known", "held_out"}


def test_a_base_is_found_from_its_inflected_forms():
    forms = {
        "walks": "walk",
        "boxes": "box",
        "baked": "bake",
        "stopping": "stop",
        "copies": "copy",
        "happiest": "happy",
    }
    assert all(base in possible_bases(word) for word, base in forms.items())


def test_both_files_hold_the_notice_and_no_pickle():
    for path in (SHIPPED, WITHHELD):
        with np.load(path, allow_pickle=False) as file:
            assert str(file["notice"]) == SHIPPED.with_suffix(".LICENSE.txt").read_text(encoding="utf-8")


def test_words_are_encoded_and_spelled():
    rows = encode(["choir", "K W AY ER"])
    assert rows.dtype == np.uint8 and [spelled(row) for row in rows] == ["choir", "K W AY ER"]
    assert token_counts(rows).tolist() == [5, 4]
    for text in ("naïve", "K W XX", "", "Choir"):
        with pytest.raises(ValueError, match="neither a word"):
            encode([text])


def test_words_are_a_pair_that_can_be_turned_round(words):
    letters, sounds = words["held_out"]
    turned = words["held_out"][::-1]
    assert turned[0] is sounds and turned[1] is letters
    assert spelled(words["held_out"].take(slice(1)).letters[0]) == spelled(letters[0])


def test_a_batch_has_marks_and_no_more_columns_than_it_needs(words):
    chosen = words["held_out"].take(np.array([3, 500, 1000]))
    src, tgt = pairs(*chosen)
    for letters, sounds, source, target in zip(*chosen, src, tgt, strict=True):
        assert source[source != PAD].tolist() == letters[letters != PAD].tolist()
        assert target[target != PAD].tolist() == [BOS, *sounds[sounds != PAD].tolist(), EOS]
    assert (src != PAD).any(axis=0).all() and (tgt != PAD).any(axis=0).all()


def test_a_run_that_is_saved_continues_bit_for_bit(words):
    params = initialise(np.random.default_rng(0), {"shared": len(VOCABULARY)}, 8, 16, 1, 1, dtype=np.float32)
    batches = list(islice(letters_to_sounds.endless_batches(0, *words["held_out"], tokens=100), 4))
    how = {"n_heads": 2, "peak": 0.01, "warmup": 3, "longest": 0.5}
    start = {"params": params, "moments": zero_moments(params), "step": 0}
    straight, log = project.continue_run(start, batches, **how)
    half, first = project.continue_run(start, batches[:2], **how)
    file = io.BytesIO()
    np.savez(file, **project.saved_run(half))
    file.seek(0)
    tree = load(file)
    loaded = {
        "params": tree["params"], "moments": (tree["mean"], tree["mean_of_squares"]), "step": int(tree["step"]),
    }  # fmt: skip
    resumed, second = project.continue_run(loaded, batches[2:], **how)
    for a, b in (([straight["params"]], [resumed["params"]]), (straight["moments"], resumed["moments"])):
        assert np.array_equal(flatten(list(a)), flatten(list(b)))
    assert resumed["step"] == 4 and np.array_equal(log, np.concatenate([first, second]))


def test_the_same_recipe_makes_the_same_weights_and_averages_the_late_ones(words):
    recipe = letters_to_sounds.RECIPE | {"steps": 40, "tokens": 60, "averaged": 0.75}
    made, log = letters_to_sounds.trained(recipe, *words["held_out"])
    again, _ = letters_to_sounds.trained(recipe, *words["held_out"])
    assert np.array_equal(flatten(made), flatten(again)) and log.shape == (40, 2)
    pauses = [flatten(run["params"]) for run, _ in letters_to_sounds.train(recipe, *words["held_out"])]
    np.testing.assert_allclose(flatten(made), np.mean(pauses, axis=0), rtol=1e-5, atol=1e-7)
    last, _ = letters_to_sounds.trained(recipe | {"averaged": 0}, *words["held_out"])
    assert np.array_equal(flatten(last), pauses[-1])


@pytest.mark.parametrize(
    "changes", [{"steps": 1.5}, {"steps": True}, {"seed": -1}, {"peak": "0.1"}, {"peak": float("nan")}, {"speed": 1}]
)
def test_a_recipe_without_sense_is_refused(changes):
    with pytest.raises(ValueError, match="recipe"):
        letters_to_sounds.checked_recipe(letters_to_sounds.RECIPE | changes)
    assert letters_to_sounds.checked_recipe(letters_to_sounds.RECIPE) == letters_to_sounds.RECIPE


def test_the_model_fits_into_half_a_megabyte_in_half_precision():
    assert 2 * count(letters_to_sounds.fresh_model(0)) < 500_000


def small_stack(seed=5):
    whole = initialise(np.random.default_rng(seed), {"shared": len(VOCABULARY)}, 8, 16, 2, 0)
    return {"embeddings": whole["embeddings"], "layers": whole["encoder"]}


def test_the_gradients_of_the_stack_are_the_measured_ones():
    rng, params = np.random.default_rng(1), small_stack()
    tokens = rng.integers(4, 40, (3, 6))
    tokens[0, 4:] = PAD
    logits, cache = language_model.stack_forward(params, tokens, 2)
    cotangent, theta = rng.normal(size=logits.shape), flatten(params)
    direction = rng.normal(size=theta.shape)

    def value(step):
        return np.sum(
            cotangent * language_model.stack_forward(unflatten(theta + step * direction, params), tokens, 2)[0]
        )

    slope = (value(1e-5) - value(-1e-5)) / 2e-5
    gradient = flatten(language_model.stack_backward(cotangent, cache)) @ direction
    assert gradient == pytest.approx(slope, rel=1e-7)


def test_writing_with_a_cache_gives_the_logits_of_the_whole_text():
    params = small_stack()
    tokens = np.random.default_rng(2).integers(4, 40, (3, 7))
    whole, _ = language_model.stack_forward(params, tokens, 2)
    past = [(np.zeros((3, 2, 0, 4)),) * 2] * 2
    for t in range(7):
        logits, past = project.stack_step(params, tokens[:, t], past, 2)
        np.testing.assert_allclose(logits, whole[:, t], atol=1e-12)


@pytest.mark.parametrize("which", [[0, 999], "shortest"])
def test_a_text_is_letters_then_sounds(words, which):
    """The text of a short word is narrower than the array of letters."""
    held_out = words["held_out"]
    n_tokens = np.count_nonzero(held_out.letters, axis=1) + np.count_nonzero(held_out.sounds, axis=1)
    some = held_out.take(n_tokens.argsort()[:1] if which == "shortest" else np.array(which))
    for letters, sounds, text in zip(*some, texts_of(some), strict=True):
        expected = [BOS, *letters[letters != PAD], SEP, *sounds[sounds != PAD], EOS]
        assert text[text != PAD].tolist() == expected


def test_the_language_model_learns(words):
    recipe = letters_to_sounds.RECIPE | {"steps": 20, "tokens": 100, "warmup": 5}
    params, losses = language_model.trained_stack(recipe, words["held_out"])
    assert losses[-1] < losses[0] - 0.3
    assert map_tree(np.shape, params) == map_tree(np.shape, language_model.fresh_stack(0))


def test_the_chapter_trains_with_the_recipe_that_grading_runs_again():
    sources = [cell.source for cell in read_chapter("10_project").cells if cell.part == "demo"]
    (recipe,) = [
        ast.literal_eval(line.value)
        for source in sources
        for line in ast.parse(source).body
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "RECIPE"
    ]
    assert recipe == letters_to_sounds.RECIPE


def test_the_chapter_brings_its_words_and_no_solution_of_its_own():
    chapter = read_chapter("10_project")
    shipped = bundle.files(chapter, [])
    data = {f"{name}.npz" for name in ("pronunciations", "project_runs", "language_model", "failed_runs", "ablations")}
    assert data <= set(shipped)
    assert not {"solutions/project.py", "solutions/letters_to_sounds.py"} & set(shipped)
    assert not {WITHHELD.read_bytes(), BANK.read_bytes()} & set(shipped.values())


def test_the_shown_logs_are_those_of_the_bank_without_the_names_of_their_bugs():
    with np.load(SHOWN, allow_pickle=False) as file:
        shown = dict(file)
    assert {name.partition(".")[0] for name in shown} == {"healthy", *"ABCDEFGH"}
    logs = {run: {name: shown[f"{run}.{name}"] for name in log_of("nothing", 0)} for run in ("healthy", *"ABCDEFGH")}
    diagnosed = {run: project.diagnose_log(log)[0] for run, log in logs.items()}
    assert diagnosed["healthy"] == "nothing"
    assert set(diagnosed.values()) == {"nothing", *BUGS}
    for run, bug in diagnosed.items():
        assert all(np.array_equal(logs[run][name], column) for name, column in log_of(bug, 0).items())


@pytest.mark.thorough("the stored logs stand for all, and a training takes seconds")
def test_a_stored_log_is_made_again(words):
    made = logged_run("leak", [0, 1], words)
    assert all(np.allclose(made[name], column, rtol=0.05, atol=0.02) for name, column in log_of("leak", 0).items())
