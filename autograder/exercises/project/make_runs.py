"""Make the training runs that chapter 10 shows besides its own: more seeds, a longer run, the way back, and ablations.

    python -m autograder.exercises.project.make_runs [NAME ...]

trains with one thread and writes `chapters/project_runs.npz`, `chapters/language_model.npz` and
`chapters/spelling_weights.npz`, the averaged weights of the way back. With names of runs it makes only these, and keeps
the other runs in the file. All of them take about ten minutes of processor time.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # set before NumPy is imported: more threads would add in a different order

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from autograder.layout import REPO
from solutions import language_model
from solutions.letters_to_sounds import N_HEADS, RECIPE, SIZES, errors, train, transcribe
from solutions.model import forward
from solutions.parameters import flatten, initialise, map_tree, save
from solutions.pronunciations import VOCABULARY, Words, load_words, pairs, spelled
from solutions.training import average, smoothed_cross_entropy

CHAPTERS = REPO / "chapters"
STORED = CHAPTERS / "project_runs.npz"
LOOKED_AT, WATCHED = 100, 500  # the interval in steps between measured losses, and their number of held-out words
SHORT = 500  # the number of steps of an ablation
WRITTEN = 60

Arrays = dict[str, np.ndarray]


def measured_run(
    words: dict[str, Words],
    recipe: dict[str, Any],
    *,
    backwards: bool = False,
    ends: tuple[int, ...] = (),
    weights: Path | None = None,
    **model: Any,
) -> Arrays:
    """Train, and return what the chapter shows of a run.

    Args:
        words: the shipped words.
        recipe: of the run.
        backwards: whether the model writes letters for sounds.
        ends: steps at which the errors are counted, as if the run ended there; by default its last step.
        weights: the file in which to put the averaged weights in half precision, if any.
        model: `params` before training and `n_heads`, see `train`.

    Returns:
        losses, lengths: (steps,), of each batch before its step.
        held_out: (steps / LOOKED_AT,), the loss of WATCHED held-out words.
        errors: (ends, 3): errors per token of held-out words by the last weights and by the averaged ones, and of words
            of held-out families by the averaged ones.
        seconds: (ends,), of processor time.
        written: (WRITTEN,), what the averaged weights write for words of held-out families.
    """
    n_heads = model.get("n_heads", N_HEADS)
    ends = ends or (recipe["steps"],)
    sides = {part: both[::-1] if backwards else tuple(both) for part, both in words.items()}
    src, tgt = pairs(*(rows[:WATCHED] for rows in sides["held_out"]))
    log, held_out, found, seconds, kept = [], [], [], [], []
    before = time.process_time()
    for run, part in train(recipe, *sides["known"], **model):
        log.append(part)
        kept.append((run["step"], run["params"]))
        if run["step"] % LOOKED_AT == 0:
            logits, _ = forward(run["params"], src, tgt[:, :-1], n_heads)
            held_out.append(smoothed_cross_entropy(logits, tgt[:, 1:], recipe["smoothing"])[0])
        if run["step"] in ends:
            late = [params for step, params in kept if step > (1 - recipe["averaged"]) * run["step"]]
            asked = [(run["params"], "held_out"), (average(late), "held_out"), (average(late), "held_out_families")]
            found.append([rate_of(params, *sides[part], n_heads) for params, part in asked])
            seconds.append(time.process_time() - before)
    if weights:
        np.savez_compressed(weights, weights=flatten(average(late)).astype(np.float16))
    losses, lengths = np.concatenate(log).T.astype(np.float32)
    source, _ = sides["held_out_families"]
    written = [spelled(row) for row in transcribe(average(late), source[:WRITTEN], n_heads=n_heads)]
    names = ("losses", "lengths", "held_out", "errors", "seconds", "written")
    values = (losses, lengths, np.array(held_out, np.float32), np.array(found), np.array(seconds), np.array(written))
    return dict(zip(names, values, strict=True))


def rate_of(params: dict[str, Any], source: np.ndarray, target: np.ndarray, n_heads: int) -> float:
    """Return the errors per token of a model's greedy output."""
    n_edits, n_tokens = errors(transcribe(params, source, n_heads=n_heads), target)
    return n_edits / n_tokens


def ablation(**changes: Any) -> Callable[[dict[str, Words]], Arrays]:
    """Return the short run with one change in the recipe, in a size, in n_heads, or in the number of known words."""

    def make(words: dict[str, Words]) -> Arrays:
        recipe = RECIPE | {"steps": SHORT} | {name: changes[name] for name in changes if name in RECIPE}
        sizes = SIZES | {name: changes[name] for name in changes if name in SIZES}
        rng = np.random.default_rng(recipe["seed"])
        params = initialise(rng, {"shared": len(VOCABULARY)}, **sizes, dtype=np.float32)
        fewer = words["known"].take(np.s_[:: changes.get("every", 1)])
        return measured_run(words | {"known": fewer}, recipe, params=params, n_heads=changes.get("n_heads", N_HEADS))

    return make


def make_language_model(words: dict[str, Words]) -> Arrays:
    params, losses = language_model.trained_stack(RECIPE, words["known"])
    save(CHAPTERS / "language_model.npz", map_tree(lambda array: array.astype(np.float16), params))
    return {"losses": losses.astype(np.float32)}


RUNS: dict[str, Callable[[dict[str, Words]], Arrays]] = {
    "seed 0": lambda words: measured_run(
        words, RECIPE | {"steps": 2 * RECIPE["steps"]}, ends=(RECIPE["steps"], 2 * RECIPE["steps"])
    ),
    "seed 1": lambda words: measured_run(words, RECIPE | {"seed": 1}),
    "seed 2": lambda words: measured_run(words, RECIPE | {"seed": 2}),
    "backwards": lambda words: measured_run(words, RECIPE, backwards=True, weights=CHAPTERS / "spelling_weights.npz"),
    "one stack": make_language_model,
    "short": ablation(),
    "a tenth of the words": ablation(every=10),
    "a tenth of the rate": ablation(peak=RECIPE["peak"] / 10),
    "one layer each": ablation(n_encoder=1, n_decoder=1),
    "one head": ablation(n_heads=1),
    "no smoothing": ablation(smoothing=0.0),
}


def main(*names: str) -> None:
    """Make the runs of these names, or all, and store each in the file when it is done."""
    words = load_words(CHAPTERS / "pronunciations.npz")
    for name in names or RUNS:
        made = RUNS[name](words)
        arrays = stored() | {f"{name}.{what}": array for what, array in made.items()}
        np.savez_compressed(STORED, **arrays)
        print(name, f"loss {made['losses'][-100:].mean():.3f}", made.get("errors"), made.get("seconds"), flush=True)


def stored() -> Arrays:
    """Return the runs that the file already holds."""
    if not STORED.exists():
        return {}
    with np.load(STORED, allow_pickle=False) as file:
        return dict(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
