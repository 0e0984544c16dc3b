"""Chapter 8: the model agrees with central differences and a PyTorch model, and three ways of decoding agree."""

import time

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from solutions import model_torch
from solutions.backward import numerical_gradient
from solutions.decoding import (
    beam_search,
    decode_step,
    greedy_decode,
    incremental_greedy_decode,
    start_past,
    window_step,
)
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.model import (
    cross_attention_weights,
    cross_entropy,
    cross_entropy_backward,
    decode,
    encode,
    forward,
    log_softmax,
    loss_and_gradients,
    repaired_model_loss,
    tie,
    unembed,
)
from solutions.multihead import split_heads
from solutions.parameters import (
    count,
    flatten,
    initialise,
    load,
    map_tree,
    named,
    save,
    unflatten,
)
from solutions.position import rotate
from solutions.transformer_torch import Transformer
from tests.solutions.conftest import TOLERANCE, relative_error

pytestmark = pytest.mark.solutions
TIED = {"shared": 9}
SEPARATE = {"source": 8, "target": 10, "output": 9}
HALF_TIED = {"source": 8, "shared": 9}
tables = pytest.mark.parametrize("vocabularies", [TIED, SEPARATE, HALF_TIED], ids=["tied", "separate", "half tied"])
D_MODEL, N_HEADS, D_FF = 12, 2, 20


def random_model(rng, vocabularies, dtype=np.float64, layers=(2, 1), widths=(D_MODEL, D_FF), noise=0.1):
    """Return parameters of which none is 0 or 1, because initial norms and biases would hide mistakes."""
    params = initialise(rng, vocabularies, *widths, *layers)
    return map_tree(lambda array: (array + noise * rng.normal(size=array.shape)).astype(dtype), params)


def random_batch(rng, n=4):
    """Return sources of different lengths, one of them only padding, and longer targets."""
    src, tgt = rng.integers(3, 8, (n, 5)), rng.integers(3, 8, (n, 8))
    src[1, 2:] = 0
    src[2] = 0
    tgt[:, 0] = 1
    tgt[0, 4:], tgt[0, 3], tgt[1:, -1] = 0, 2, 2
    return src, tgt


def twin_of(params, vocabularies):
    n_layers = len(params["encoder"]), len(params["decoder"])
    twin = Transformer(vocabularies, D_MODEL, N_HEADS, D_FF, *n_layers)
    twin = twin.to(torch.tensor(flatten(params)).dtype)
    model_torch.load_parameters(twin, named(params))
    return twin


@pytest.mark.parametrize(
    "vocabularies, layers",
    [
        pytest.param(TIED, (2, 1), id="tied, 2 + 1 layers"),
        pytest.param(SEPARATE, (1, 2), id="separate, 1 + 2 layers", marks=pytest.mark.thorough("other sizes")),
    ],
)
def test_the_gradient_of_every_parameter_agrees_with_central_differences(rng, vocabularies, layers):
    params, (src, tgt) = random_model(rng, vocabularies, np.float64, layers, (4, 5), noise=0.3), random_batch(rng)
    _, gradients = loss_and_gradients(params, src, tgt, N_HEADS)
    vector = numerical_gradient(
        lambda vector: loss_and_gradients(unflatten(vector, params), src, tgt, N_HEADS)[0], flatten(params)
    )
    measured = named(unflatten(vector, params))
    assert named(gradients).keys() == measured.keys()
    for path, gradient in named(gradients).items():
        if path.endswith("b_key"):  # zero up to rounding, because softmax does not change under a shift
            assert np.abs(gradient).max() < 1e-15 and np.abs(measured[path]).max() < 1e-9
        else:
            assert relative_error(gradient, measured[path]) <= 1e-7, path


@tables
@pytest.mark.parametrize("layers", [(2, 1), (1, 3)], ids=["2 + 1 layers", "1 + 3 layers"])
def test_the_model_agrees_with_its_pytorch_twin(rng, dtype, vocabularies, layers):
    params, (src, tgt) = random_model(rng, vocabularies, dtype, layers), random_batch(rng)
    loss, gradients = loss_and_gradients(params, src, tgt, N_HEADS)
    logits, _ = forward(params, src, tgt[:, :-1], N_HEADS)

    twin = twin_of(params, vocabularies)
    expected = twin(torch.tensor(src), torch.tensor(tgt[:, :-1]))
    expected_loss = functional.cross_entropy(expected.flatten(0, 1), torch.tensor(tgt[:, 1:]).flatten(), ignore_index=0)
    expected_loss.backward()
    assert logits.dtype == loss.dtype == dtype and {array.dtype for array in named(gradients).values()} == {
        np.dtype(dtype)
    }
    assert relative_error(logits, expected.detach().numpy()) <= TOLERANCE[dtype]
    assert relative_error(loss, expected_loss.item()) <= TOLERANCE[dtype]
    paths = named(params).keys()
    for path, expected_gradient in model_torch.read_gradients(twin, paths).items():
        if not path.endswith("b_key"):
            assert relative_error(named(gradients)[path], expected_gradient) <= TOLERANCE[dtype], path


def test_pytorch_s_layers_agree_with_ours_without_their_final_norms(rng):
    """`nn.Transformer` ends each stack with a norm that the paper does not have."""
    own = nn.Transformer(D_MODEL, N_HEADS, 1, 1, D_FF, dropout=0.0, batch_first=True)
    assert isinstance(own.encoder.norm, nn.LayerNorm) and isinstance(own.decoder.norm, nn.LayerNorm)
    ours = Transformer({}, D_MODEL, N_HEADS, D_FF, 1, 1)
    extra = sum(parameter.numel() for norm in (own.encoder.norm, own.decoder.norm) for parameter in norm.parameters())
    assert extra == 4 * D_MODEL
    assert sum(p.numel() for p in own.parameters()) == sum(p.numel() for p in ours.parameters()) + extra


def test_a_list_of_heads_and_one_big_linear_compute_the_same(rng):
    """Head i owns rows i * d_head to (i + 1) * d_head of the big weights: outputs and all gradients agree."""
    big, d_head = model_torch.MultiHeadAttention(D_MODEL, 3).double(), D_MODEL // 3
    heads = [{role: nn.Linear(D_MODEL, d_head).double() for role in ("query", "key", "value")} for _ in range(3)]
    owned = [
        (head[role], getattr(big, f"linear_{role}"), slice(i * d_head, (i + 1) * d_head))
        for i, head in enumerate(heads)
        for role in head
    ]
    for narrow, wide, rows in owned:
        narrow.weight.data, narrow.bias.data = wide.weight.data[rows].clone(), wide.bias.data[rows].clone()

    x, memory, cotangent = (torch.tensor(rng.normal(size=(2, length, D_MODEL))) for length in (5, 7, 5))
    output = big(x, memory, memory)
    output.backward(cotangent)
    attended = []
    for head in heads:
        queries, keys, values = head["query"](x), head["key"](memory), head["value"](memory)
        attended.append(torch.softmax(queries @ keys.mT / d_head**0.5, dim=-1) @ values)
    w_output, b_output = (p.detach().clone().requires_grad_() for p in big.linear_output.parameters())
    listed = functional.linear(torch.cat(attended, dim=-1), w_output, b_output)
    listed.backward(cotangent)

    torch.testing.assert_close(listed, output, rtol=0, atol=1e-12)
    pairs = [(w_output.grad, big.linear_output.weight.grad), (b_output.grad, big.linear_output.bias.grad)]
    pairs += [(narrow.weight.grad, wide.weight.grad[rows]) for narrow, wide, rows in owned]
    pairs += [(narrow.bias.grad, wide.bias.grad[rows]) for narrow, wide, rows in owned]
    for narrow, wide in pairs:
        torch.testing.assert_close(narrow, wide, rtol=0, atol=1e-12)


def test_padding_changes_nothing(rng):
    params, (src, tgt) = random_model(rng, TIED), random_batch(rng)
    wider = (np.pad(tokens, [(0, 0), (0, 3)]) for tokens in (src, tgt))
    loss, gradients = loss_and_gradients(params, src, tgt, N_HEADS)
    wider_loss, wider_gradients = loss_and_gradients(params, *wider, N_HEADS)
    assert relative_error(wider_loss, loss) < 1e-14
    assert relative_error(flatten(wider_gradients), flatten(gradients)) < 1e-13


def test_a_batch_is_the_mean_of_its_sentences_weighted_by_their_tokens(rng):
    params, (src, tgt) = random_model(rng, TIED), random_batch(rng)
    lengths = (tgt[:, 1:] != 0).sum(axis=1)
    losses = [loss_and_gradients(params, source, target, N_HEADS)[0] for source, target in zip(src, tgt, strict=True)]
    assert loss_and_gradients(params, src, tgt, N_HEADS)[0] == pytest.approx(np.average(losses, weights=lengths))


def test_two_batch_axes(rng):
    params, (src, tgt) = random_model(rng, TIED), random_batch(rng, 6)
    logits, _ = forward(params, src, tgt, N_HEADS)
    stacked, _ = forward(params, src.reshape(2, 3, -1), tgt.reshape(2, 3, -1), N_HEADS)
    assert relative_error(stacked, logits.reshape(stacked.shape)) < 1e-14


def test_no_encoder_layers_and_a_batch_of_padding_give_no_nan(rng):
    params = initialise(rng, TIED, D_MODEL, D_FF, 1, 1)
    loss, gradients = loss_and_gradients(params, np.zeros((2, 3), int), np.zeros((2, 4), int), N_HEADS)
    assert loss == 0 and not flatten(gradients).any()
    src, tgt = random_batch(rng)
    loss, gradients = loss_and_gradients(initialise(rng, TIED, D_MODEL, D_FF, 0, 1), src, tgt, N_HEADS)
    assert np.isfinite(loss) and np.isfinite(flatten(gradients)).all()


def test_logits_do_not_depend_on_the_tokens_to_predict(rng):
    params, (src, tgt) = random_model(rng, TIED, layers=(1, 2)), random_batch(rng)
    logits, _ = forward(params, src, tgt, N_HEADS)
    changed = tgt.copy()
    changed[:, 5:] = 7
    assert np.array_equal(forward(params, src, changed, N_HEADS)[0][:, :5], logits[:, :5])


def test_the_gradients_of_a_shared_table_add_up(rng):
    a, b, c = rng.normal(size=(3, 4, 2))
    gradients = {"source": a, "target": b, "output": c}
    np.testing.assert_array_equal(tie(gradients, ["shared"])["shared"], a + b + c)
    assert tie(gradients, ["source", "shared"]).keys() == {"source", "shared"}
    np.testing.assert_array_equal(tie(gradients, ["source", "shared"])["shared"], b + c)
    assert tie(gradients, ["source", "target", "output"]) == gradients


def test_cross_entropy_agrees_with_pytorch_when_padding_has_infinite_logits(rng, dtype):
    logits = rng.normal(size=(2, 3, 5)).astype(dtype) * 50
    targets = np.array([[1, 4, 0], [2, 0, 0]])
    logits[targets == 0] = -np.inf
    loss, cache = cross_entropy(logits, targets)
    grad_logits = cross_entropy_backward(2.0, cache)
    leaf = torch.tensor(np.nan_to_num(logits, neginf=0), requires_grad=True)  # PyTorch's gradient would be NaN
    expected = functional.cross_entropy(leaf.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=0)
    (2 * expected).backward()
    assert loss.dtype == grad_logits.dtype == dtype
    assert relative_error(loss, expected.item()) <= TOLERANCE[dtype]
    assert relative_error(grad_logits, leaf.grad.numpy()) <= TOLERANCE[dtype]
    assert np.isfinite(log_softmax(np.array([1e4, -1e4]))).all()


def test_cross_attention_weights_are_rows_over_the_real_source_tokens(rng):
    params, (src, tgt) = random_model(rng, TIED, layers=(1, 3)), random_batch(rng)
    memory, _ = encode(params, src, N_HEADS)
    _, cache = decode(params, tgt, memory, src, N_HEADS)
    weights = cross_attention_weights(cache)
    assert weights.shape == (3, len(src), N_HEADS, tgt.shape[1], src.shape[1])
    expected = np.broadcast_to(np.any(src != 0, axis=1)[:, np.newaxis, np.newaxis], weights.shape[:-1])
    np.testing.assert_allclose(weights.sum(axis=-1), expected, atol=1e-12)
    assert not weights[:, 1, ..., 2:].any()
    embedding_cache, layer_caches, output_cache = cache
    plain = embedding_cache, [tuple(layer_cache) for layer_cache in layer_caches], output_cache
    np.testing.assert_array_equal(cross_attention_weights(plain), weights)


def sharp_model(rng):
    """Return a model with sharp predictions that depend more on the position than on the last token."""
    params = random_model(rng, SEPARATE, layers=(1, 2), noise=0.3)
    tables = params["embeddings"]
    return params | {"embeddings": tables | {"target": 0.3 * tables["target"], "output": 5 * tables["output"]}}


def test_incremental_decoding_writes_the_same_tokens():
    written = set()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        params, (src, _) = sharp_model(rng), random_batch(rng, 8)
        tokens = greedy_decode(params, src, N_HEADS, max_length=20)
        np.testing.assert_array_equal(tokens, incremental_greedy_decode(params, src, N_HEADS, max_length=20))
        written |= set(np.unique(tokens))
    assert written == set(range(9))


def test_a_step_gives_the_last_row_of_the_full_logits(rng):
    params, (src, tgt) = sharp_model(rng), random_batch(rng)
    tgt[3, 3] = 0  # padding in the middle: later positions must not attend to it
    memory, _ = encode(params, src, N_HEADS)
    logits, _ = decode(params, tgt, memory, src, N_HEADS)
    past = start_past(params, memory, N_HEADS)
    for t in range(tgt.shape[1]):
        step_logits, past = decode_step(params, tgt[:, : t + 1], past, src, N_HEADS)
        assert relative_error(step_logits, logits[:, t]) < 1e-12


def test_greedy_decoding_takes_each_arg_max_and_stops():
    lengths = set()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        params, (src, _) = sharp_model(rng), random_batch(rng, 8)
        tokens = greedy_decode(params, src, N_HEADS, max_length=12)
        for source, row in zip(src, tokens, strict=True):
            ends = np.flatnonzero(row == 2)
            length = ends[0] + 1 if len(ends) else len(row)
            logits, _ = forward(params, source, np.array([1, *row[: length - 1]]), N_HEADS)
            np.testing.assert_array_equal(logits.argmax(axis=-1), row[:length])
            assert not row[length:].any()
            lengths.add((int(length), tokens.shape[1]))
    assert any(length < width for length, width in lengths) and max(width for _, width in lengths) == 12


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed):
    rng = np.random.default_rng(seed)
    params, (src, _) = sharp_model(rng), random_batch(rng, 6)
    for source in src:
        greedy = greedy_decode(params, source[np.newaxis], N_HEADS, max_length=15)
        tokens, _ = beam_search(params, source, N_HEADS, beam_width=1, max_length=15)
        np.testing.assert_array_equal(tokens, greedy)


def score(params, source, sentence, length_penalty):
    """Return the score of a sentence, from the full model, token by token."""
    log_probabilities = log_softmax(forward(params, source, np.array([1, *sentence[:-1]]), N_HEADS)[0])
    total = sum(row[token] for row, token in zip(log_probabilities, sentence, strict=True))
    return total / ((5 + len(sentence)) / 6) ** length_penalty


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_a_wide_beam_finds_the_best_of_all_sentences(rng, length_penalty):
    """With 9 tokens and at most 3 steps, every sentence can be scored."""
    params, source = sharp_model(rng), np.array([3, 5, 4])
    tokens, scores = beam_search(params, source, N_HEADS, 9**3, length_penalty, max_length=3)

    others = [token for token in range(9) if token != 2]
    sentences = [[2], *([a, 2] for a in others), *([a, b, c] for a in others for b in others for c in range(9))]
    expected = [score(params, source, sentence, length_penalty) for sentence in sentences]
    np.testing.assert_allclose(scores, sorted(expected, reverse=True), atol=1e-12)
    best = sentences[np.argmax(expected)]
    np.testing.assert_array_equal(tokens[0], [*best, *[0] * (3 - len(best))])


@pytest.mark.parametrize("seed", range(5))
def test_every_hypothesis_of_a_narrow_beam_has_its_reported_score(seed):
    rng = np.random.default_rng(seed)
    params, source = sharp_model(rng), np.array([3, 5, 4, 0])
    tokens, scores = beam_search(params, source, N_HEADS, 4, max_length=8)
    assert len(tokens) == len(scores) == 4 and np.all(np.diff(scores) <= 0)
    for row, expected in zip(tokens, scores, strict=True):
        sentence = row[: np.flatnonzero(row == 2)[0] + 1] if 2 in row else row
        assert score(params, source, sentence, 0.6) == pytest.approx(expected)
        assert not row[len(sentence) :].any()


def test_fifty_tokens_by_steps_take_less_time_than_in_full(rng):
    """Steps take a fifth of the time. Here it must only be less, also on a busy machine."""
    params = initialise(rng, {"shared": 50}, 32, 128, 2, 2, np.float32)
    src = rng.integers(3, 50, (16, 10))

    def seconds(decoder):
        start = time.process_time()
        assert decoder(params, src, 4, 50, eos=-1).shape == (16, 50)
        return time.process_time() - start

    assert seconds(incremental_greedy_decode) < seconds(greedy_decode)


def test_the_paper_s_model_has_as_many_parameters_as_the_formula(rng):
    vocab, d_model, d_ff, n_layers = 37_000, 512, 2048, 6
    twin = Transformer({"shared": vocab}, d_model, 8, d_ff, n_layers, n_layers)
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    expected = vocab * d_model + n_layers * (encoder + decoder)
    assert sum(parameter.numel() for parameter in twin.parameters()) == expected == 63_082_496
    small = initialise(rng, {"shared": 11}, 8, 12, 2, 3)
    twin = Transformer({"shared": 11}, 8, 2, 12, 2, 3)
    assert count(small) == sum(parameter.numel() for parameter in twin.parameters())


def test_the_first_loss_is_near_that_of_guessing(rng):
    params = initialise(rng, {"shared": 500}, 64, 256, 2, 2)
    src, tgt = rng.integers(3, 500, (2, 8, 12))
    loss, _ = loss_and_gradients(params, src, tgt, 4)
    assert loss == pytest.approx(np.log(500), abs=0.8)


def test_the_pytorch_modules_train_with_dropout_and_are_still_in_evaluation():
    torch.manual_seed(0)
    twin = Transformer(TIED, D_MODEL, N_HEADS, D_FF, 1, 1, dropout=0.5)
    src, tgt = torch.tensor([[3, 4]]), torch.tensor([[1, 5, 6]])
    assert not torch.equal(twin(src, tgt), twin(src, tgt))
    twin.eval()
    assert torch.equal(twin(src, tgt), twin(src, tgt))


def test_parameters_become_a_vector_and_a_file_and_come_back(rng, tmp_path):
    params = random_model(rng, HALF_TIED, np.float32, (1, 11))
    through_a_file = _through_a_file(params, tmp_path / "params.npz")
    for copy in (unflatten(flatten(params), params), through_a_file):
        assert named(copy).keys() == named(params).keys()
        assert all(np.array_equal(named(copy)[path], array) for path, array in named(params).items())
        assert flatten(copy).dtype == np.float32 and len(copy["decoder"]) == 11
        assert [copy["decoder"][i]["attention"]["w_key"][0, 0] for i in range(11)] == [
            layer["attention"]["w_key"][0, 0] for layer in params["decoder"]
        ]
    shuffled = {name: params[name] for name in reversed(params)}
    np.testing.assert_array_equal(flatten(shuffled), flatten(params))


def test_several_trees_are_walked_by_their_names():
    tree = {"b": [np.array(1), np.array(2)], "a": np.array(3)}
    other = {"a": np.array(30), "b": [np.array(10), np.array(20)]}
    assert map_tree(lambda x, y: int(x + y), tree, other) == {"a": 33, "b": [11, 22]}
    assert map_tree(int, np.array(4)) == 4
    with pytest.raises(KeyError):
        map_tree(lambda x, y: x, tree, {"b": other["b"]})
    with pytest.raises(ValueError):
        map_tree(lambda x, y: x, tree, other | {"b": other["b"][:1]})


def _through_a_file(params, path):
    save(path, params)
    return load(path)


def test_unembed_needs_no_batch_axis(rng):
    x, table = rng.normal(size=(3, 6)), rng.normal(size=(9, 6))
    np.testing.assert_allclose(unembed(x, table)[0], x @ table.T, rtol=1e-12)


def test_the_bug_hunt_s_reference_is_the_model_s_loss(rng):
    params, (src, tgt) = random_model(rng, SEPARATE), random_batch(rng)
    loss = repaired_model_loss(params, src, tgt, N_HEADS, 0)
    logits, _ = forward(params, src, tgt[:, :-1], N_HEADS)
    probabilities = np.exp(log_softmax(logits))
    surprises = [
        -np.log(p[y])
        for rows, labels in zip(probabilities, tgt[:, 1:], strict=True)
        for p, y in zip(rows, labels, strict=True)
        if y
    ]
    assert loss == pytest.approx(np.mean(surprises))


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_steps_in_a_window_are_one_pass_with_its_mask(rng, n_groups):
    """Any number of shared keys and values, and memory for one window only."""
    n_heads, d_head, d_model, T, window = 4, 6, 5, 13, 4
    widths = {"query": n_heads, "key": n_groups, "value": n_groups}
    params = {f"w_{role}": rng.normal(size=(d_model, n * d_head)) for role, n in widths.items()}
    params |= {f"b_{role}": rng.normal(size=n * d_head) for role, n in widths.items()}
    params |= {"w_output": rng.normal(size=(n_heads * d_head, d_model)), "b_output": rng.normal(size=d_model)}
    x = rng.normal(size=(2, T, d_model))

    steps, keys, values = [], *np.zeros((2, 2, n_groups, 0, d_head))
    for t in range(T):
        output, keys, values = window_step(x[:, t : t + 1], params, keys, values, t, window, n_heads)
        assert keys.shape == values.shape == (2, n_groups, min(t + 1, window), d_head)
        steps.append(output)

    heads = {role: split_heads(x @ params[f"w_{role}"] + params[f"b_{role}"], n) for role, n in widths.items()}
    queries, all_keys = rotate(heads["query"], np.arange(T)), rotate(heads["key"], np.arange(T))
    distances = np.subtract.outer(np.arange(T), np.arange(T))
    copies = (array.repeat(n_heads // n_groups, axis=1) for array in (all_keys, heads["value"]))
    found, _ = masked_attention(queries, *copies, (distances >= 0) & (distances < window))
    at_once = merge_heads(found) @ params["w_output"] + params["b_output"]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), at_once, atol=1e-12)
