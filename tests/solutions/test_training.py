"""Chapter 9: loss, schedule and Adam agree with PyTorch and the formulas, and a trained model translates."""

import math

import learnt_map
import numpy as np
import pytest
import torch
from num2words import num2words
from torch import nn
from torch.nn import functional

from autograder.layout import REPO
from solutions import numbers, translator
from solutions.backward import numerical_gradient
from solutions.decoding import beam_search, greedy_decode, incremental_greedy_decode
from solutions.learning_rate import noam_learning_rate
from solutions.model import cross_attention_weights, cross_entropy, decode, encode, forward, loss_and_gradients
from solutions.model_torch import load_parameters
from solutions.parameters import flatten, initialise, load, named
from solutions.smoothing import smooth_labels
from solutions.training import (
    adam_step,
    average,
    label_entropy,
    smoothed_cross_entropy,
    smoothed_cross_entropy_backward,
    train,
    train_step,
    zero_moments,
)
from solutions.transformer_torch import Transformer
from tests.solutions.comparing import assert_close
from tests.solutions.conftest import TOLERANCE, relative_error

pytestmark = pytest.mark.solutions


def test_smoothed_labels_add_up_to_one_and_the_right_class_has_the_largest():
    labels = smooth_labels(np.array([[2, 0], [1, 2]]), 4, 0.1)
    assert labels.shape == (2, 2, 4)
    np.testing.assert_allclose(labels[0, 0], [0.025, 0.025, 0.925, 0.025])
    np.testing.assert_allclose(labels.sum(axis=-1), 1)
    np.testing.assert_array_equal(smooth_labels(np.array(1), 3, 0.0), [0, 1, 0])
    np.testing.assert_allclose(smooth_labels(np.array([1]), 4, 1.0), 0.25)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("shape", [(5,), (2, 5), (3, 2, 5)])
def test_the_smoothed_loss_and_its_gradient_agree_with_pytorch(rng, dtype, smoothing, shape):
    logits = 3 * rng.normal(size=(*shape, 7)).astype(dtype)
    targets = rng.integers(1, 7, shape)
    targets[..., -2:] = 0
    loss, cache = smoothed_cross_entropy(logits, targets, smoothing)
    grad_logits = smoothed_cross_entropy_backward(3.0, cache)

    leaf = torch.tensor(logits, requires_grad=True)
    criterion = nn.CrossEntropyLoss(label_smoothing=smoothing, ignore_index=0)
    expected = criterion(leaf.reshape(-1, 7), torch.tensor(targets).reshape(-1))
    (3 * expected).backward()
    assert loss.dtype == grad_logits.dtype == dtype and grad_logits.shape == logits.shape
    assert relative_error(loss, expected.item()) <= TOLERANCE[dtype]
    assert relative_error(grad_logits, leaf.grad.numpy()) <= TOLERANCE[dtype]


def test_the_smoothed_gradient_agrees_with_central_differences(rng):
    logits, targets = rng.normal(size=(2, 4, 6)), np.array([[3, 1, 3, 0], [5, 0, 0, 0]])
    _, cache = smoothed_cross_entropy(logits, targets, 0.2)
    measured = numerical_gradient(lambda logits: smoothed_cross_entropy(logits, targets, 0.2)[0], logits)
    assert relative_error(smoothed_cross_entropy_backward(1.0, cache), measured) < 1e-8


def test_the_loss_is_the_cross_entropy_with_smoothed_labels_or_chapter_8_s_without_smoothing(rng):
    logits, targets = rng.normal(size=(2, 4, 6)), rng.integers(1, 6, (2, 4))
    log_probabilities = np.log(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True))
    by_labels = -(smooth_labels(targets, 6, 0.3) * log_probabilities).sum(axis=-1).mean()
    assert smoothed_cross_entropy(logits, targets, 0.3)[0] == pytest.approx(by_labels)
    assert smoothed_cross_entropy(logits, targets, 0.0)[0] == pytest.approx(cross_entropy(logits, targets)[0])


@pytest.mark.parametrize("vocab, smoothing", [(5, 0.1), (24, 0.1), (100, 0.3)])
def test_the_variant_with_k_minus_1_is_pytorch_s_with_another_eps(vocab, smoothing):
    """Spreading eps over the K - 1 wrong classes equals spreading eps K / (K - 1) over all K."""
    variant = np.full(vocab, smoothing / (vocab - 1))
    variant[3] = 1 - smoothing
    np.testing.assert_allclose(smooth_labels(np.array(3), vocab, smoothing * vocab / (vocab - 1)), variant, atol=1e-15)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_may_contain_any_values(rng, smoothing):
    logits, targets = rng.normal(size=(3, 4)), np.array([2, 0, 0])
    expected, expected_cache = smoothed_cross_entropy(logits, targets, smoothing)
    strange = logits.copy()
    strange[1], strange[2] = -np.inf, np.nan
    loss, cache = smoothed_cross_entropy(strange, targets, smoothing)
    assert loss == expected
    grad_logits = smoothed_cross_entropy_backward(1.0, cache)
    np.testing.assert_array_equal(grad_logits, smoothed_cross_entropy_backward(1.0, expected_cache))
    assert not grad_logits[1:].any()
    nothing, cache = smoothed_cross_entropy(logits, np.zeros(3, int), smoothing)
    assert nothing == 0 and not smoothed_cross_entropy_backward(1.0, cache).any()


def test_the_entropy_is_the_least_loss(rng):
    labels = smooth_labels(np.array([3]), 8, 0.1)
    loss, cache = smoothed_cross_entropy(np.log(labels), np.array([3]), 0.1)
    assert loss == pytest.approx(label_entropy(8, 0.1))
    np.testing.assert_allclose(smoothed_cross_entropy_backward(1.0, cache), 0, atol=1e-15)
    assert label_entropy(8, 0.0) == 0


@pytest.mark.parametrize("vocab, smoothing", [(5, 0.0), (9, 0.3), (55, 0.1), (4, 1.0)])
def test_the_entropy_of_a_label_is_the_loss_of_pytorch_for_perfect_logits(vocab, smoothing):
    right = torch.tensor([3])
    label = torch.full((1, vocab), smoothing / vocab, dtype=torch.float64)
    label[0, 3] += 1 - smoothing
    criterion = nn.CrossEntropyLoss(label_smoothing=smoothing)
    assert math.log(vocab) == pytest.approx(criterion(torch.zeros_like(label), right).item(), rel=1e-12)
    perfect = label.clamp(min=1e-300).log()  # the logits whose softmax is the label
    assert label_entropy(vocab, smoothing) == pytest.approx(criterion(perfect, right).item(), rel=1e-12)


def test_the_schedule_rises_linearly_and_then_falls_with_the_root():
    rates = np.array([noam_learning_rate(step, 512, 4000) for step in range(1, 16_001)])
    assert rates.argmax() == 3999 and rates[3999] == pytest.approx(512**-0.5 * 4000**-0.5)
    np.testing.assert_allclose(rates[:4000], rates[0] * np.arange(1, 4001))
    assert rates[15_999] == pytest.approx(rates[3999] / 2)
    assert noam_learning_rate(10, 128) == pytest.approx(2 * noam_learning_rate(10, 512))


@pytest.mark.parametrize("step", [0, -1])
def test_steps_count_from_1(step):
    with pytest.raises(ValueError, match="from 1"):
        noam_learning_rate(step, 512)
    with pytest.raises(ValueError, match="from 1"):
        adam_step(np.ones(2), np.ones(2), (np.zeros(2), np.zeros(2)), step, 0.1)


@pytest.mark.parametrize("constants", [{}, {"beta_1": 0.8, "beta_2": 0.999, "eps": 1e-3}], ids=["paper", "others"])
def test_fifty_steps_of_adam_agree_with_pytorch(rng, dtype, constants):
    parameters = rng.normal(size=(3, 4)).astype(dtype)
    moments = np.zeros_like(parameters), np.zeros_like(parameters)
    leaf = torch.tensor(parameters, requires_grad=True)
    betas = constants.get("beta_1", 0.9), constants.get("beta_2", 0.98)
    optimizer = torch.optim.Adam([leaf], betas=betas, eps=constants.get("eps", 1e-9))
    for step in range(1, 51):
        gradients = (rng.normal(size=(3, 4)) * 10.0 ** rng.integers(-4, 3)).astype(dtype)
        kept = [array.copy() for array in (parameters, gradients, *moments)]
        rate = noam_learning_rate(step, 64, 20)
        new_parameters, new_moments = adam_step(parameters, gradients, moments, step, rate, **constants)
        for array, copy in zip((parameters, gradients, *moments), kept, strict=True):
            np.testing.assert_array_equal(array, copy)
        parameters, moments = new_parameters, new_moments
        optimizer.param_groups[0]["lr"] = rate
        leaf.grad = torch.tensor(gradients)
        optimizer.step()
        assert relative_error(parameters, leaf.detach().numpy()) <= TOLERANCE[dtype]
    assert parameters.dtype == dtype and {moment.dtype for moment in moments} == {np.dtype(dtype)}


def test_adam_updates_a_tree_as_it_updates_each_array(rng):
    """Arrays are matched by their names, whatever the order of the dicts."""

    def tree(bias, gain, table):
        return {"norm": {"bias": bias, "gain": gain}, "layers": [{"table": table}]}

    parameters, gradients, mean, squares = (rng.uniform(1, 2, size=(3, 5)) for _ in range(4))
    other_order = {"layers": [{"table": gradients[2]}], "norm": {"gain": gradients[1], "bias": gradients[0]}}
    new, (new_mean, new_squares) = adam_step(tree(*parameters), other_order, (tree(*mean), tree(*squares)), 3, 0.1)
    expected, (expected_mean, expected_squares) = adam_step(parameters, gradients, (mean, squares), 3, 0.1)
    for made, right in ((new, expected), (new_mean, expected_mean), (new_squares, expected_squares)):
        assert_close(made, tree(*right), 0)


def test_the_first_step_of_adam_is_the_sign_of_the_gradient():
    zeros = np.zeros(3)
    parameters, _ = adam_step(zeros, np.array([1e-3, -5.0, 0.0]), (zeros, zeros), 1, 0.1)
    np.testing.assert_allclose(parameters, [-0.1, 0.1, 0.0], rtol=1e-5)


def test_exact_match_ignores_tokens_after_the_end_mark():
    references = np.array([[5, 6, 2, 0], [7, 2, 0, 0], [5, 5, 5, 2], [3, 2, 0, 0]])
    predictions = np.array([[5, 6, 2, 9, 9], [7, 7, 2, 0, 0], [5, 5, 5, 5, 5], [3, 2, 0, 0, 0]])
    assert numbers.exact_match(predictions, references) == 0.5
    assert numbers.exact_match(references[:, :3], references) == 0.75
    assert numbers.exact_match(np.array([[4, 3]]), np.array([[4, 3, 9]]), eos=3) == 1.0
    assert numbers.exact_match(np.array([[4, 3], [4, 3]]), np.array([[4, 3], [4, 5]]), eos=9) == 0.5


def test_train_steps_agree_with_pytorch(rng):
    """Both sides take the same 20 steps in float64.

    The gradients of key biases are noise, which Adam amplifies. Key biases have no effect, so we compare the losses.
    """
    vocab, n_heads = 11, 2
    params = initialise(rng, {"shared": vocab}, 8, 12, 1, 2)
    twin = Transformer({"shared": vocab}, 8, n_heads, 12, 1, 2).double()
    load_parameters(twin, named(params))
    optimizer = torch.optim.Adam(twin.parameters(), betas=(0.9, 0.98), eps=1e-9)
    moments = zero_moments(params)
    for step in range(1, 21):
        src, tgt = rng.integers(3, vocab, (4, 5)), rng.integers(3, vocab, (4, 7))
        src[0, 3:] = tgt[1, 4:] = 0
        rate = noam_learning_rate(step, 8, 100)
        params, moments, loss = train_step(params, moments, step, src, tgt, n_heads, rate)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        logits = twin(torch.tensor(src), torch.tensor(tgt[:, :-1])).flatten(0, 1)
        labels = torch.tensor(tgt[:, 1:]).flatten()
        expected = functional.cross_entropy(logits, labels, ignore_index=0, label_smoothing=0.1)
        expected.backward()
        optimizer.step()
        assert loss == pytest.approx(expected.item(), rel=1e-10)


def test_one_batch_can_be_memorised(rng):
    src, tgt = numbers.batch([7, 42, 316, 20_021])
    params = initialise(rng, {"shared": len(numbers.VOCABULARY)}, 16, 32, 1, 1, np.float32)
    history = list(train(params, [(src, tgt)] * 150, 2, warmup=40, peak=0.5, smoothing=0.0))
    (params, last), (_, first) = history[-1], history[0]
    assert first > 3 and last < 0.05
    assert numbers.exact_match(greedy_decode(params, src, 2), tgt[:, 1:]) == 1


def test_average_is_the_mean_array_by_array(rng):
    checkpoints = [initialise(rng, {"shared": 5}, 4, 6, 1, 1) for _ in range(3)]
    expected = np.mean([flatten(params) for params in checkpoints], axis=0)
    np.testing.assert_allclose(flatten(average(checkpoints)), expected, rtol=1e-14, atol=1e-17)


def test_morphemes_join_to_num2words_german_and_the_words_are_its_english():
    rng = np.random.default_rng(0)
    for number in [0, 1, 16, 17, 21, 66, 77, 101, 1001, 99_999, *rng.integers(0, numbers.LIMIT, 500).tolist()]:
        assert "".join(numbers.german(number)) == num2words(number, lang="de")
        english = num2words(number, lang="en").replace(" and ", " ").replace("-", " ").replace(",", "")
        assert " ".join(numbers.english(number)) == english
    assert numbers.english(245) == ["two", "hundred", "forty", "five"]
    assert numbers.german(245) == ["zwei", "hundert", "fünf", "und", "vier", "zig"]
    assert len(set(numbers.VOCABULARY)) == len(numbers.VOCABULARY) == 55


def test_batches_are_padded_sentence_pairs():
    src, tgt = numbers.batch([245, 7])
    assert src.shape == (2, 4) and tgt.shape == (2, 8)
    assert numbers.words(tgt[0]) == "zwei hundert fünf und vier zig" and numbers.words(src[1]) == "seven"
    assert tgt[1, 0] == numbers.BOS and tgt[1, 2] == numbers.EOS and not tgt[1, 3:].any()
    for src, tgt in numbers.batches(np.random.default_rng(0), np.array([5, 21]), 3, 4):
        assert len(src) == len(tgt) == 3 and src[:, -1].any() and tgt[:, -1].any()


def test_no_training_number_contains_a_held_out_pair():
    known, test, test_pairs = numbers.split(np.random.default_rng(0))
    pairs_of = {number: numbers.tens_and_units(number) for number in range(numbers.LIMIT)}
    seen = set().union(*(pairs_of[number] for number in known.tolist()))
    assert len(seen) == 72 - 8
    assert all(pairs_of[number] - seen for number in test_pairs.tolist())
    assert not set(known.tolist()) & set(test.tolist()) and len(test) == len(test_pairs) == 2000
    assert numbers.tens_and_units(21_345) == {(2, 1), (4, 5)} and not numbers.tens_and_units(13_020)


@pytest.fixture(scope="module")
def trained():
    """Return the model that `translator.learn` trains with seed 0, and the numbers held out from it."""
    _, test, test_pairs = numbers.split(np.random.default_rng(0))
    return load(REPO / "chapters" / "translator.npz"), test, test_pairs


def test_the_maps_in_chapter_4_are_those_of_the_trained_translator(trained):
    """`chapters/learnt_map.py` has a forward pass of its own, because chapter 4 comes before `solutions.model`."""
    params, _, _ = trained
    src, tgt = numbers.batch([245])
    memory, _ = encode(params, src, translator.N_HEADS)
    _, cache = decode(params, tgt[:, :-1], memory, src, translator.N_HEADS)
    expected = cross_attention_weights(cache)[-1, 0][:, :-1]
    drawn = learnt_map.cross_attention(REPO / "chapters" / "translator.npz", src[0].tolist(), tgt[0, :-2].tolist())
    np.testing.assert_allclose(drawn, expected, atol=1e-5)


def test_the_model_translates_numbers_that_it_has_never_seen(trained):
    params, test, test_pairs = trained
    assert translator.translate(params, test)[1] == translator.translate(params, test_pairs)[1] == 1


@pytest.mark.thorough("trains a model; other tests memorise one batch or use the stored model")
def test_the_loss_falls_at_the_start_of_training():
    """This trains only briefly. Chapter 9 trains a larger model to the end and reports its results."""
    params, losses, test, _ = translator.learn(seed=0, n_steps=120)
    floor, nothing = label_entropy(len(numbers.VOCABULARY), 0.1), math.log(len(numbers.VOCABULARY))
    assert losses[0] > nothing - 1
    assert floor < np.mean(losses[-20:]) < (floor + nothing) / 2
    src, tgt = numbers.batch(test[:64])
    logits, _ = forward(params, src, tgt[:, :-1], translator.N_HEADS)
    loss, _ = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing=0.1)
    assert loss < np.mean(losses[-30:]), "the average of the checkpoints, on numbers that were not shown"


def test_the_three_ways_of_decoding_agree(trained):
    params, test, _ = trained
    src, tgt = numbers.batch(test[:50])
    tokens = greedy_decode(params, src, translator.N_HEADS)
    np.testing.assert_array_equal(tokens, incremental_greedy_decode(params, src, translator.N_HEADS))
    for source, row in zip(src[:5], tokens[:5], strict=True):
        alone, _ = beam_search(params, source, translator.N_HEADS, beam_width=1)
        assert numbers.exact_match(alone, row[np.newaxis]) == 1
        several, scores = beam_search(params, source, translator.N_HEADS)
        assert numbers.exact_match(several[:1], row[np.newaxis]) == 1 and np.exp(scores[0]) > 0.5


def test_the_model_translates_short_and_round_numbers(trained):
    """Only one number in a thousand is below 100. A model trained on random numbers wrote "sieben und vier" for 7."""
    assert translator.translate(trained[0], [*range(1000), *range(1000, numbers.LIMIT, 1000)])[1] == 1


def test_the_decoder_attends_to_the_word_that_it_translates(trained):
    """German swaps tens and units. For "fünf und vier zig" the last layer attends to "five" first, then to "forty"."""
    params, test, _ = trained
    hits = []
    for number in [number for number in test.tolist() if number % 100 > 20 and number % 10][:400]:
        src, tgt = numbers.batch([number])
        memory, _ = encode(params, src, translator.N_HEADS)
        _, cache = decode(params, tgt[:, :-1], memory, src, translator.N_HEADS)
        looked_at = cross_attention_weights(cache)[-1, 0].mean(axis=0).argmax(axis=-1)
        # Rows, from the end: <eos>, zig, the tens, und, the units. Columns: the units, the tens.
        hits.append((looked_at[-5] == src.shape[1] - 1, looked_at[-3] == src.shape[1] - 2))
    assert len(hits) == 400 and np.mean(hits) > 0.9


def test_the_gradients_of_a_trained_model_are_small(trained):
    params, test, _ = trained
    _, gradients = loss_and_gradients(params, *numbers.batch(test[:64]), translator.N_HEADS)
    assert np.linalg.norm(flatten(gradients)) < 1
