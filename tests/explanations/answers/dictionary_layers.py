"""Wrong answers to chapter 12, a dictionary of words that do not exist: the gate and the layer, both ways."""

import numpy as np

from solutions.backward import attention_backward
from solutions.dictionary import swiglu, swiglu_backward
from solutions.heads import merge_heads
from solutions.multihead import split_heads
from solutions.residual import rms_norm_backward
from tests.explanations.registry import wrong


def silu(x):
    return x * (1 + np.tanh(x / 2)) / 2


def gated(x, params, hidden):
    gate, up = (np.einsum("...i,if->...f", x, params[name]) for name in ("w_gate", "w_up"))
    return np.einsum("...f,fi->...i", hidden(gate, up), params["w_down"]), (x, gate, up, params)


@wrong("swiglu", "https://github.com/ml-explore/mlx-lm/pull/767", names="other_copy")
def silu_of_the_other(x, params):
    """Applies silu to the copy that the gate should let through."""
    return gated(x, params, lambda gate, up: silu(up) * gate)


@wrong("swiglu", "https://github.com/Nijikadesu/breakdown-minimind/issues/3", names="silu_of_the_product")
def silu_of_the_product(x, params):
    """Multiplies the two copies first, and applies silu to their product."""
    return gated(x, params, lambda gate, up: silu(gate * up))


@wrong("swiglu", "https://github.com/google-research/timesfm/issues/493", says="a factor left out")
def one_projection(x, params):
    """Applies silu to one copy and leaves the other out."""
    return gated(x, params, lambda gate, up: silu(gate))


@wrong("swiglu", "https://github.com/togethercomputer/stripedhyena/pull/9", names="gelu_gate")
def gelu_for_silu(x, params):
    """Uses gelu as the gate."""

    def hidden(gate, up):
        return gate / 2 * (1 + np.tanh(np.sqrt(2 / np.pi).astype(x.dtype) * (gate + 0.044715 * gate**3))) * up

    return gated(x, params, hidden)


@wrong("swiglu", "https://github.com/clab/dynet/issues/1525", names="overflowing")
def infinity_over_infinity(x, params):
    """Divides infinity by infinity for a large gate."""

    def hidden(gate, up):
        with np.errstate(over="ignore", invalid="ignore"):
            large = np.exp(gate)
            return gate * (large / (1 + large)) * up

    return gated(x, params, hidden)


def back_through(grad_output, cache, slope=None, hidden=None):
    x, gate, up, params = cache
    opening = (1 + np.tanh(gate / 2)) / 2
    slope = opening * (1 + gate * (1 - opening)) if slope is None else slope(gate)
    rows = tuple(range(x.ndim - 1))
    grad_hidden = grad_output @ params["w_down"].T
    grad_gate, grad_up = grad_hidden * up * slope, grad_hidden * silu(gate)
    hidden = silu(gate) * up if hidden is None else hidden(gate, up)
    by_gate, by_up = grad_gate @ params["w_gate"].T, grad_up @ params["w_up"].T
    return (by_gate, by_up), {
        "w_gate": np.tensordot(x, grad_gate, (rows, rows)),
        "w_up": np.tensordot(x, grad_up, (rows, rows)),
        "w_down": np.tensordot(hidden, grad_output, (rows, rows)),
    }


@wrong("swiglu_backward", "https://github.com/chelsea0x3b/dfdx/pull/915")
def parentheses_forgotten(grad_output, cache):
    """Divides only the last term of the slope."""

    def slope(gate):
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.exp(-gate)
            return 1 + small + gate * small / (1 + small) ** 2

    paths, grads = back_through(grad_output, cache, slope)
    return sum(paths), grads


@wrong("swiglu_backward", "https://github.com/Lightning-AI/lightning-thunder/pull/2624", names="overflowing")
def slope_by_exponentials(grad_output, cache):
    """Multiplies infinity by zero where the gate is very negative."""

    def slope(gate):
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.exp(-gate)
            return 1 / (1 + small) + gate * small / (1 + small) ** 2

    paths, grads = back_through(grad_output, cache, slope)
    return sum(paths), grads


@wrong(
    "swiglu_backward",
    "https://github.com/fla-org/flash-linear-attention/pull/1071",
    names="hidden_without_gate",
)
def recomputed_before_the_gate(grad_output, cache):
    """Recomputes the hidden row without its gate."""
    paths, grads = back_through(grad_output, cache, hidden=lambda gate, up: up)
    return sum(paths), grads


@wrong("swiglu_backward", "https://github.com/linkedin/Liger-Kernel/pull/1413", names="by_gate_alone")
def one_contribution(grad_output, cache):
    """Loses one of the two contributions to the gradient of x."""
    (by_gate, _), grads = back_through(grad_output, cache)
    return by_gate, grads


@wrong("swiglu_backward", "https://github.com/unslothai/unsloth/issues/3314", names="names_exchanged")
def stored_in_the_other_buffer(grad_output, cache):
    """Stores the gradient of each copy where that of the other belongs."""
    paths, grads = back_through(grad_output, cache)
    return sum(paths), {"w_gate": grads["w_up"], "w_up": grads["w_gate"], "w_down": grads["w_down"]}


def inverse_rms(x):
    return 1 / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + x.dtype.type(1e-5))


def turned(x, positions=None, base=10_000.0):
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = np.outer(positions, base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    pairs = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def side_by_side(heads):
    return np.concatenate(np.moveaxis(heads, -3, 0), axis=-1)


def layered(
    x, params, n_heads, *,
    inverse=inverse_rms, centre=lambda x: x, gain_of=lambda gain: gain, turn=turned, turn_keys=None,
    groups_of=lambda n_heads, n_groups: np.repeat(np.arange(n_groups), n_heads // n_groups),
    scale=lambda n_heads, d_key: d_key**-0.5, merged=side_by_side,
    first=lambda x, normed, update: x + update, second=lambda x, hidden, normed, update: hidden + update,
):  # fmt: skip
    """Write the layer out; each option changes one of its steps."""
    weights, d_key = params["attention"], x.shape[-1] // n_heads

    def norm(x, gain):
        x = centre(x)
        return x * inverse(x) * gain_of(gain), (x * inverse(x), inverse(x), gain_of(gain))

    rows, norm_attention = norm(x, params["norm_attention"])
    queries, keys, values = (
        np.moveaxis((rows @ weights[name]).reshape(*x.shape[:-1], -1, d_key), -2, -3)
        for name in ("w_query", "w_key", "w_value")
    )
    queries, keys = turn(queries), (turn_keys or turn)(keys)
    groups = groups_of(n_heads, keys.shape[-3])
    scores = queries @ np.swapaxes(keys[..., groups, :, :], -1, -2) * x.dtype.type(scale(n_heads, d_key))
    scores = np.where(np.tri(x.shape[-2], dtype=bool), scores, -np.inf).astype(x.dtype)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    heads = merged(shares @ values[..., groups, :, :])
    hidden = first(x, rows, heads @ weights["w_output"])
    normed, norm_feed_forward = norm(hidden, params["norm_feed_forward"])
    update, feed_forward = swiglu(normed, params["feed_forward"])
    attention = rows, (queries, keys, values, shares), heads, weights
    return second(x, hidden, normed, update), (norm_attention, attention, norm_feed_forward, feed_forward)


@wrong("modern_layer", "https://github.com/linkedin/Liger-Kernel/issues/74", names="gain_plus_one")
def gain_plus_one(x, params, n_heads):
    """Multiplies by one plus the gain, as Gemma does."""
    return layered(x, params, n_heads, gain_of=lambda gain: 1 + gain)


@wrong("modern_layer", "https://github.com/ggml-org/llama.cpp/issues/173", names="with_layer_norm")
def mean_subtracted(x, params, n_heads):
    """Uses layer norm, which also subtracts the mean."""
    return layered(x, params, n_heads, centre=lambda x: x - x.mean(axis=-1, keepdims=True))


@wrong("modern_layer", "https://github.com/allenai/OLMo/issues/281")
def eps_outside_the_root(x, params, n_heads):
    """Adds eps to the root."""
    return layered(
        x, params, n_heads, inverse=lambda x: 1 / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + x.dtype.type(1e-5))
    )


@wrong("modern_layer", "https://github.com/Lightning-AI/lit-llama/pull/339", names="eps_of_1e-6")
def another_eps(x, params, n_heads):
    """Takes 1e-6 for eps."""
    return layered(
        x, params, n_heads, inverse=lambda x: 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-6))
    )


@wrong("modern_layer", "https://github.com/mosaicml/llm-foundry/issues/371")
def divided_by_the_inverse(x, params, n_heads):
    """Divides by the inverse root, and so multiplies by the root."""
    return layered(x, params, n_heads, inverse=lambda x: 1 / inverse_rms(x))


@wrong("modern_layer", "https://github.com/vukrosic/leo-optimizer/pull/2", names="rotate.heads_for_positions")
def turned_by_the_head(x, params, n_heads):
    """Turns each row by the number of its head."""

    def turn(heads):
        return np.swapaxes(turned(np.swapaxes(heads, -2, -3)), -2, -3)

    return layered(x, params, n_heads, turn=turn)


@wrong("modern_layer", "https://github.com/Tencent-Hunyuan/HunyuanDiT/issues/66", names="queries_alone")
def keys_at_rest(x, params, n_heads):
    """Turns the queries alone."""
    return layered(x, params, n_heads, turn_keys=lambda keys: keys)


@wrong("modern_layer", "https://github.com/rasbt/LLMs-from-scratch/issues/838", names="turned_halves")
def half_a_head_away(x, params, n_heads):
    """Pairs column i with column i + d/2."""

    def turn(heads):
        half = heads.shape[-1] // 2
        angles = np.outer(np.arange(heads.shape[-2]), 10_000.0 ** (-np.arange(half) / half))
        cos, sin = (np.tile(f(angles), 2).astype(heads.dtype) for f in (np.cos, np.sin))
        return heads * cos + np.concatenate([-heads[..., half:], heads[..., :half]], axis=-1) * sin

    return layered(x, params, n_heads, turn=turn)


@wrong("modern_layer", "https://github.com/google-deepmind/penzai/pull/102", says="right at the first place along `T`")
def another_base(x, params, n_heads):
    """Turns with the base 500,000, which later models use."""
    return layered(x, params, n_heads, turn=lambda heads: turned(heads, base=500_000.0))


@wrong("modern_layer", "https://github.com/ekzhang/jax-js/pull/180", names="interleaved")
def tiled_groups(x, params, n_heads):
    """Tiles the groups where it should repeat each."""
    return layered(
        x, params, n_heads, groups_of=lambda n_heads, n_groups: np.tile(np.arange(n_groups), n_heads // n_groups)
    )


@wrong("modern_layer", "https://github.com/PSAL-POSTECH/ONNXim/pull/34", names="divided_by_the_groups")
def divided_by_the_groups(x, params, n_heads):
    """Divides the number of the head by the number of groups."""
    return layered(x, params, n_heads, groups_of=lambda n_heads, n_groups: np.arange(n_heads) // n_groups)


@wrong("modern_layer", "https://github.com/Graylab/DL4Proteins-notebooks/issues/12", names="divided_by_width")
def scaled_by_the_width(x, params, n_heads):
    """Divides the scores by the root of the whole width."""
    return layered(x, params, n_heads, scale=lambda n_heads, d_key: (n_heads * d_key) ** -0.5)


@wrong("modern_layer", "https://github.com/tenstorrent/tt-metal/pull/56789", names="divided_by_heads")
def scaled_by_the_heads(x, params, n_heads):
    """Divides the scores by the root of the number of heads."""
    return layered(x, params, n_heads, scale=lambda n_heads, d_key: n_heads**-0.5)


@wrong("modern_layer", "https://github.com/esceptico/perceiver-io/issues/9", names="multiplied")
def multiplied_by_the_root(x, params, n_heads):
    """Divides the scores by the inverse root, and so multiplies them by the root."""
    return layered(x, params, n_heads, scale=lambda n_heads, d_key: d_key**0.5)


@wrong("modern_layer", "https://github.com/ajhalthor/Transformer-Neural-Network/issues/1", names="merged_unswapped")
def reshaped_without_a_permutation(x, params, n_heads):
    """Reshapes the heads to rows without swapping the axes back."""
    return layered(x, params, n_heads, merged=lambda heads: heads.reshape(x.shape))


@wrong("modern_layer", "https://github.com/Howuhh/faster-trajectory-transformer/issues/3", names="added_to_normed")
def normed_stream(x, params, n_heads):
    """Adds the attention to the normalised rows."""
    return layered(x, params, n_heads, first=lambda x, normed, update: normed + update)


@wrong("modern_layer", "https://github.com/naklecha/llama3-from-scratch/issues/28", names="thought_added_to_normed")
def normed_middle(x, params, n_heads):
    """Adds the feed-forward to the normalised middle."""
    return layered(x, params, n_heads, second=lambda x, hidden, normed, update: normed + update)


@wrong("modern_layer", "https://github.com/strutive07/transformer-tensorflow2.0/issues/14", names="second_sum_with_x")
def second_sum_from_the_start(x, params, n_heads):
    """Adds the feed-forward to the input of the layer."""
    return layered(x, params, n_heads, second=lambda x, hidden, normed, update: x + update)


@wrong("modern_layer", "https://github.com/kyegomez/BitNet/issues/32")
def overwritten_and_doubled(x, params, n_heads):
    """Overwrites x with the attention, and then adds it to itself."""
    return layered(x, params, n_heads, first=lambda x, normed, update: update + update)


def back(
    grad_output, cache, *, arrived=lambda grad, normed: normed,
    middle=lambda grad, through: grad + through, start=lambda grad, through: grad + through,
    through_norm=rms_norm_backward, turn_back=lambda grad: turned(grad, -np.arange(grad.shape[-2])),
):  # fmt: skip
    """Write the backward pass out; each option changes one of its steps."""
    norm_attention, (rows, (queries, keys, values, shares), merged, weights), norm_feed_forward, forward = cache
    grad_normed, grad_forward = swiglu_backward(grad_output, forward)
    through, second_gain = through_norm(arrived(grad_output, grad_normed), norm_feed_forward)
    grad_hidden = middle(grad_output, through)
    axes = tuple(range(grad_output.ndim - 1))
    grad_heads = split_heads(grad_hidden @ weights["w_output"].T, queries.shape[-3])
    sharing = queries.shape[-3] // keys.shape[-3]
    copies = (np.repeat(array, sharing, axis=-3) for array in (keys, values))
    grad_queries, *grads = attention_backward(grad_heads, (queries, *copies, shares))
    grad_keys, grad_values = (g.reshape(*keys.shape[:-2], sharing, *keys.shape[-2:]).sum(axis=-3) for g in grads)
    parts = {"w_query": turn_back(grad_queries), "w_key": turn_back(grad_keys), "w_value": grad_values}
    parts = {name: merge_heads(part) for name, part in parts.items()}
    grad_attention = {name: np.tensordot(rows, part, (axes, axes)) for name, part in parts.items()}
    grad_attention["w_output"] = np.tensordot(merged, grad_hidden, (axes, axes))
    through, first_gain = through_norm(sum(part @ weights[name].T for name, part in parts.items()), norm_attention)
    grad_params = {"norm_attention": first_gain, "attention": grad_attention}
    return start(grad_hidden, through), grad_params | {"norm_feed_forward": second_gain, "feed_forward": grad_forward}


@wrong("modern_layer_backward", "https://github.com/paiml/entrenar/issues/313", names="second_straight_path")
def second_skip_missing(grad_output, cache):
    """Leaves out what goes straight through the second sum."""
    return back(grad_output, cache, middle=lambda grad, through: through)


@wrong("modern_layer_backward", "https://github.com/NVIDIA/Fuser/pull/2922", names="both_straight_paths")
def both_skips_missing(grad_output, cache):
    """Leaves out what goes straight through either sum."""
    return back(grad_output, cache, middle=lambda grad, through: through, start=lambda grad, through: through)


@wrong("modern_layer_backward", "https://github.com/Dao-AILab/quack/pull/53", names="added_before_the_norm")
def added_before_the_norm(grad_output, cache):
    """Adds the gradient of the output before it goes back through the norm."""
    return back(grad_output, cache, arrived=lambda grad, normed: grad + normed, middle=lambda grad, through: through)


@wrong(
    "modern_layer_backward",
    "https://github.com/NVIDIA/Megatron-LM/pull/6859",
    names="rms_norm_backward.gain_before_the_mean",
)
def gain_twice_in_the_variance(grad_output, cache):
    """Multiplies the second term of the norm's gradient by the gain again."""

    def through_norm(grad, cache):
        normalised, inverse, gain = cache
        mean = np.mean(grad * gain * normalised, axis=-1, keepdims=True)
        return inverse * (grad * gain - gain * normalised * mean), rms_norm_backward(grad, cache)[1]

    return back(grad_output, cache, through_norm=through_norm)


@wrong("modern_layer_backward", "https://github.com/unslothai/unsloth/issues/4533", names="gains_at_rest")
def gains_without_a_gradient(grad_output, cache):
    """Returns zero as the gradient of the gains, which then never learn."""

    def through_norm(grad, cache):
        grad_x, grad_gain = rms_norm_backward(grad, cache)
        return grad_x, np.zeros_like(grad_gain)

    return back(grad_output, cache, through_norm=through_norm)


@wrong("modern_layer_backward", "https://github.com/karpathy/llm.c/pull/763", names="rms_norm_backward.gain_forgotten")
def gain_left_out(grad_output, cache):
    """Does not multiply by the gain in the norm's backward pass."""

    def through_norm(grad, cache):
        normalised, inverse, _ = cache
        grad_x = inverse * (grad - normalised * np.mean(grad * normalised, axis=-1, keepdims=True))
        return grad_x, rms_norm_backward(grad, cache)[1]

    return back(grad_output, cache, through_norm=through_norm)


@wrong("modern_layer_backward", "https://github.com/ngxson/llama.cpp/pull/59", names="turned_forwards")
def turned_on(grad_output, cache):
    """Turns the gradients forwards, as the forward pass does."""
    return back(grad_output, cache, turn_back=turned)
