"""Chapter 12: tokens are the text; the layer, the model and AdamW agree with PyTorch and with numerical gradients."""

import ast
from collections import Counter
from itertools import pairwise

import numpy as np
import parity
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.chapter.chapter import read_chapter
from autograder.layout import REPO
from autograder.release import bundle
from solutions import definer, dictionary
from solutions.backward import numerical_gradient
from solutions.definitions import (
    CHARACTERS,
    END,
    PAD,
    endless_batches,
    load_entries,
    load_merges,
    numbered,
    padded,
    pieces,
    vocabulary_of,
)
from solutions.parameters import flatten, leaves, map_tree, unflatten
from solutions.training import smoothed_cross_entropy, smoothed_cross_entropy_backward, zero_moments
from tests.solutions.conftest import TOLERANCE, relative_error

pytestmark = pytest.mark.solutions

SIZES = {"vocab": 11, "d_model": 12, "d_ff": 10, "n_layers": 2, "n_heads": 6, "n_groups": 2}


def test_the_example_of_the_paper_gets_the_paper_s_merges():
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    merges = dictionary.merges_of(counts, 4)
    assert merges == [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")]


def test_no_more_merges_than_neighbours():
    assert dictionary.merges_of({"abc": 1}, 10) == [("a", "b"), ("ab", "c")]
    assert dictionary.merges_of({"aaa": 2, "b": 5}, 10) == [("a", "a"), ("aa", "a")]
    assert dictionary.merges_of({}, 3) == []


words = st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(1, 9), max_size=6)


@given(words, st.integers(0, 8))
def test_each_merge_is_the_most_frequent_pair_counted_anew(counts, n_merges):
    tokens = {piece: list(piece) for piece in counts}
    for merge in dictionary.merges_of(counts, n_merges):
        often = Counter()
        for piece, n in counts.items():
            for pair in pairwise(tokens[piece]):
                often[pair] += n
        assert merge == min(often, key=lambda pair: (-often[pair], pair))
        tokens = {piece: dictionary.joined(parts, merge) for piece, parts in tokens.items()}
    assert dictionary.merges_of(counts, n_merges) == dictionary.merges_of(counts, 99)[:n_merges]


@given(words, st.text("abc d\n'é", max_size=20))
def test_the_tokens_of_any_text_are_the_text(counts, text):
    merges = dictionary.merges_of(counts, 8)
    tokens = dictionary.text_tokens(text, merges)
    assert "".join(tokens) == text
    assert all(pair not in merges for piece in pieces(text) for pair in pairwise(dictionary.text_tokens(piece, merges)))


def test_the_oldest_pair_is_joined_first_even_if_a_younger_one_made_it():
    merges = [("b", "c"), ("abc", "d"), ("a", "bc")]
    assert dictionary.text_tokens("abcd", merges) == ["abcd"]


def test_the_gate_agrees_with_pytorch(batch, dtype, rng):
    x = rng.normal(size=(*batch, 4, 5)).astype(dtype)
    params = {
        name: rng.normal(size=shape).astype(dtype)
        for name, shape in (("w_gate", (5, 7)), ("w_up", (5, 7)), ("w_down", (7, 5)))
    }
    output, cache = dictionary.swiglu(x, params)
    cotangent = rng.normal(size=output.shape).astype(dtype)
    grad_x, gradients = dictionary.swiglu_backward(cotangent, cache)

    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in {"x": x, **params}.items()}
    gate, up = tensors["x"] @ tensors["w_gate"], tensors["x"] @ tensors["w_up"]
    expected = (torch.nn.functional.silu(gate) * up) @ tensors["w_down"]
    expected.backward(torch.tensor(cotangent))
    assert relative_error(output, expected.detach()) < TOLERANCE[dtype]
    for name, gradient in {"x": grad_x, **gradients}.items():
        assert gradient.dtype == dtype
        assert relative_error(gradient, tensors[name].grad) < TOLERANCE[dtype], name


def test_a_gate_far_from_zero_stays_finite():
    params = {"w_gate": np.eye(2), "w_up": np.ones((2, 2)), "w_down": np.eye(2)}
    with np.errstate(all="raise", under="ignore"):
        output, cache = dictionary.swiglu(np.array([[1e4, -1e4]]), params)
        gradients = dictionary.swiglu_backward(np.ones((1, 2)), cache)
    assert all(np.isfinite(array).all() for array in (output, gradients[0], *leaves(gradients[1])))


def fresh_layer(rng, dtype=np.float64):
    """Return a layer with gains that are not all one."""
    layer = definer.fresh_definer(rng, **SIZES, dtype=np.float64)["layers"][0]
    return map_tree(lambda array: (array + 0.3 * rng.normal(size=array.shape)).astype(dtype), layer)


def test_the_layer_agrees_with_pytorch(batch, dtype, rng):
    params = fresh_layer(rng, dtype)
    x = rng.normal(size=(*batch, 7, SIZES["d_model"])).astype(dtype)
    output, cache = dictionary.modern_layer(x, params, SIZES["n_heads"])
    cotangent = rng.normal(size=output.shape).astype(dtype)
    grad_x, gradients = dictionary.modern_layer_backward(cotangent, cache)
    assert output.dtype == grad_x.dtype == dtype

    tensors = map_tree(lambda array: torch.tensor(array, requires_grad=True), params)
    torch_x = torch.tensor(x[None] if not batch else x, requires_grad=True)
    expected = parity.modern_layer(SIZES["n_heads"])(torch_x, tensors)
    expected.backward(torch.tensor(cotangent).reshape(expected.shape))
    assert relative_error(output, expected.detach().reshape(output.shape)) < 10 * TOLERANCE[dtype]
    assert relative_error(grad_x, torch_x.grad.reshape(x.shape)) < 10 * TOLERANCE[dtype]
    for gradient, tensor in zip(leaves(gradients), leaves(map_tree(lambda t: t.grad.numpy(), tensors)), strict=True):
        assert gradient.dtype == dtype
        assert relative_error(gradient, tensor) < 10 * TOLERANCE[dtype]


def test_the_whole_model_agrees_with_numerical_gradients(rng):
    params = definer.fresh_definer(rng, **SIZES, dtype=np.float64)
    params = map_tree(lambda array: array + 0.1 * rng.normal(size=array.shape), params)
    tokens = padded([[3, 4, 4, 9], [5, 3]])

    def loss_of(vector):
        logits, _ = definer.definer_forward(unflatten(vector, params), tokens[:, :-1], SIZES["n_heads"])
        return smoothed_cross_entropy(logits, tokens[:, 1:])[0]

    logits, cache = definer.definer_forward(params, tokens[:, :-1], SIZES["n_heads"])
    _, loss_cache = smoothed_cross_entropy(logits, tokens[:, 1:])
    gradients = definer.definer_backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    assert relative_error(flatten(gradients), numerical_gradient(loss_of, flatten(params))) < 1e-7


def test_five_steps_agree_with_adamw_of_pytorch(dtype, rng):
    params = {"matrix": rng.normal(size=(3, 4)).astype(dtype), "gain": rng.normal(size=4).astype(dtype)}
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in params.items()}
    groups = [{"params": [tensors["matrix"]], "weight_decay": 0.1}, {"params": [tensors["gain"]], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.95), eps=1e-8)
    moments, given_params = zero_moments(params), map_tree(np.copy, params)
    for step in range(1, 6):
        gradients = map_tree(lambda array: rng.normal(size=array.shape).astype(dtype), params)
        for name, tensor in tensors.items():
            tensor.grad = torch.tensor(gradients[name])
        optimizer.step()
        params, moments = dictionary.adamw_step(params, gradients, moments, step, 0.01, 0.1)
    for name, tensor in tensors.items():
        assert params[name].dtype == dtype
        assert relative_error(params[name], tensor.detach()) < TOLERANCE[dtype]
        assert not np.array_equal(given_params[name], params[name])


def test_batches_hold_each_text_once_with_an_end_on_both_sides():
    texts = [[2 + i % 5] * (1 + i % 7) for i in range(50)]
    batches = endless_batches(0, texts, 8)
    rows = [row[row != PAD] for tokens in (next(batches) for _ in range(7)) for row in tokens]
    assert sorted(row[1:-1].tolist() for row in rows) == sorted(texts)
    assert all(row[0] == row[-1] == END for row in rows)


def test_padding_changes_no_logits_before_it(rng):
    params = definer.fresh_definer(rng, **SIZES, dtype=np.float64)
    alone, _ = definer.definer_forward(params, padded([[5, 3]]), SIZES["n_heads"])
    beside, _ = definer.definer_forward(params, padded([[5, 3], [3, 4, 4, 9, 2]]), SIZES["n_heads"])
    np.testing.assert_allclose(beside[0, :4], alone[0], atol=1e-12)


def test_the_vocabulary_begins_with_the_marks_and_the_characters():
    vocab = vocabulary_of([("a", "b"), ("ab", "c")])
    assert vocab[PAD] == "<pad>" and vocab[END] == "<end>" and vocab[-2:] == ["ab", "abc"]
    assert len(set(vocab)) == len(vocab) == 2 + len(CHARACTERS) + 2


def texts_of_tokens(n):
    rng = np.random.default_rng(7)
    return [rng.integers(2, 40, rng.integers(3, 9)).tolist() for _ in range(n)]


def test_a_run_that_continues_has_the_weights_of_one_that_never_stopped():
    recipe, texts = definer.RECIPE | {"steps": 4, "size": 3}, texts_of_tokens(8)
    *_, (straight, _) = definer.train(recipe, texts)
    halfway, _ = next(definer.train(recipe, texts))
    *_, (resumed, _) = definer.train(recipe, texts, halfway)
    assert resumed["step"] == straight["step"] == 4
    assert np.array_equal(flatten(resumed["params"]), flatten(straight["params"]))


def test_the_mean_loss_counts_each_token_once_and_no_padding():
    params = definer.fresh_definer(np.random.default_rng(0), **SIZES | {"vocab": 40})
    texts = texts_of_tokens(5)
    rows = [padded([text]) for text in texts]
    alone = [definer.definer_forward(params, row[:, :-1], 6)[0] for row in rows]
    losses = [smoothed_cross_entropy(logits, row[:, 1:])[0] for logits, row in zip(alone, rows, strict=True)]
    expected = np.average(losses, weights=[len(text) + 1 for text in texts])
    assert abs(definer.mean_loss(params, texts, n_heads=6, size=2) - expected) < 1e-5


def defined_in_the_chapter(name):
    """Return the statement that defines a name in a cell of the chapter."""
    cells = [ast.parse(cell.source) for cell in read_chapter("12_dictionary").cells if cell.part == "demo"]
    statements = [statement for cell in cells for statement in cell.body]
    return next(
        s
        for s in statements
        if getattr(s, "name", "") == name or (isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == name)
    )


def test_the_chapter_trains_like_the_book_s_model():
    assert ast.literal_eval(defined_in_the_chapter("RECIPE").value) == definer.RECIPE
    namespace = vars(definer) | {"N_HEADS": 6}
    for name in ("cosine_rate", "definer_step"):
        exec(ast.unparse(defined_in_the_chapter(name)), namespace)
    assert all(namespace["cosine_rate"](d, 0.1) == definer.cosine_rate(d, 0.1) for d in (0.001, 0.02, 0.7, 1))
    params = definer.fresh_definer(np.random.default_rng(0), **SIZES | {"vocab": 40})
    start = params, zero_moments(params), 1, padded(texts_of_tokens(5))
    theirs = namespace["definer_step"](*start, 0.01, 0.1)
    ours = definer.definer_step(*start, 6, 0.01, 0.1)
    assert theirs[2] == ours[2] and np.array_equal(flatten(theirs[0]), flatten(ours[0]))


def test_the_chapter_brings_no_solution_of_its_own():
    shipped = bundle.modules(read_chapter("12_dictionary"))
    assert not {"solutions/dictionary.py", "solutions/definer.py"} & set(shipped)
    assert "solutions/definer_parameters.py" in shipped


@pytest.mark.thorough("it reads 1,500 entries")
def test_the_stored_run_ended_with_the_stored_weights():
    merges = load_merges(REPO / "chapters" / "definitions.npz")
    entries = load_entries(REPO / "chapters" / "definitions.npz")["held_out"]
    texts = numbered(entries, lambda piece: dictionary.text_tokens(piece, merges), vocabulary_of(merges))
    with np.load(REPO / "chapters" / "dictionary_run.npz") as file:
        like = definer.fresh_definer(np.random.default_rng(0), **definer.SIZES)
        params = unflatten(file["weights"].astype(np.float32), like)
        assert abs(definer.mean_loss(params, texts) - file["held_out"][-1]) < 0.001
        n_losses = len(file["losses"]), len(file["held_out"])
    assert n_losses == (definer.RECIPE["steps"] / 100, definer.RECIPE["steps"] / definer.LOOKED_AT)
