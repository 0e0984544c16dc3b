"""Compare a layer with PyTorch's, and its backward pass with central differences.

    parity.show(attention, attention_backward, parity.attention(), {"Q": q, "K": k, "V": v})

A twin is a function of the same arguments as the layer, for tensors. It passes them to PyTorch's own layer, renamed and
transposed, so autograd returns the gradients under our names and in our shapes. The sections *Parity with
PyTorch*, the page on testing and some cells below those sections use this file.
"""

from operator import methodcaller

import numpy as np

try:
    import torch
    from torch.nn import functional
except ModuleNotFoundError:
    torch = None

LIMITS = {np.float64: 1e-12, np.float32: 5e-6}
MEASURED = 1e-6  # limit for central differences
STEP = 1e-5
ROLES = ("query", "key", "value")


def relative_error(ours, theirs):
    """Return the L2 distance as a share of the expected norm."""
    theirs = np.asarray(theirs)
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


def mapped(function, tree, *others):
    """Return a tree of dicts and lists like `tree`, with the function's result for each of its arrays.

    Unlike `map_tree`, it keeps the order of the names, which is the order of a layer's arguments.
    """
    if isinstance(tree, dict):
        return {name: mapped(function, branch, *(other[name] for other in others)) for name, branch in tree.items()}
    if isinstance(tree, list):
        return [mapped(function, *branches) for branches in zip(tree, *others, strict=True)]
    return function(tree, *others)


def leaves(tree, path=""):
    """Yield (path, array) for each array of a tree of dicts and lists."""
    if isinstance(tree, (dict, list)):
        for name, branch in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(branch, f"{path}.{name}".lstrip("."))
    else:
        yield path, tree


def show(layer, backward, twin, inputs, more=()):
    """Print the largest relative differences, and assert that each is within its limit.

    Args:
        layer: function of the inputs that returns (output, cache).
        backward: function of (gradient of the output, cache) that returns the gradients of the first inputs; None if
            there is none yet. Then PyTorch's gradients are compared with the layer's central differences.
        twin: the same function as the layer, for tensors.
        inputs: dict, name -> array or tree of arrays, in the order of the layer's arguments.
        more: rows (what, error in float64, error in float32) to add.
    """
    rng = np.random.default_rng(0)
    output, _ = layer(*inputs.values())
    cotangent = rng.normal(size=np.shape(output))
    rows = {}
    for dtype in LIMITS if torch else ():
        given = mapped(methodcaller("astype", dtype), inputs)
        errors, gradients = _differences(layer, backward, twin, given, cotangent.astype(dtype))
        for what, error in errors.items():
            assert error < LIMITS[dtype], (what, error)
            rows.setdefault(what, []).append(error)
        if dtype == np.float64:
            by_pytorch = gradients
    for what, *errors in more:
        rows[what] = errors
        assert all(error < limit for error, limit in zip(errors, LIMITS.values(), strict=False)), (what, errors)
    print(f"{'compared with PyTorch':<36}float64  float32" if torch else "PyTorch is not installed here.")
    for what, errors in rows.items():
        print(f"{what:<36}" + "  ".join(f"{error:7.0e}" for error in errors))
    if backward or torch:
        found = _named(backward(cotangent, layer(*inputs.values())[1]), inputs) if backward else by_pytorch
        error = _measured_error(layer, inputs, found, cotangent)
        assert error < MEASURED, error
        print(f"{'compared with central differences':<36}float64\n{'along a random direction':<36}{error:7.0e}")


def _named(gradients, inputs):
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return dict(zip(inputs, gradients, strict=False))


def _differences(layer, backward, twin, inputs, cotangent):
    """Return the errors by name, and PyTorch's gradients."""
    tensors = mapped(lambda array: torch.tensor(array, requires_grad=True), inputs)
    theirs = twin(*tensors.values())
    theirs.backward(torch.tensor(cotangent))
    by_pytorch = mapped(lambda tensor: tensor.grad.numpy(), tensors)
    output, cache = layer(*inputs.values())
    errors = {"output": relative_error(output, theirs.detach())}
    if backward:
        for name, gradient in _named(backward(cotangent, cache), inputs).items():
            pairs = zip(leaves(gradient), leaves(mapped(lambda _, g: g, gradient, by_pytorch[name])), strict=True)
            # On paper, a key bias has the gradient zero (chapter 4), so only rounding is left to compare.
            found = [relative_error(ours, g) for (path, ours), (_, g) in pairs if not path.endswith("b_key")]
            errors[f"gradient of {name}" + f", worst of {len(found)}" * (len(found) > 1)] = max(found)
    return errors, by_pytorch


def _measured_error(layer, inputs, gradients, cotangent):
    """Return the error of the slope that the gradients predict along a random direction of all inputs."""
    rng = np.random.default_rng(1)
    inputs = {name: inputs[name] for name in inputs if name in gradients}
    direction = mapped(lambda array: rng.normal(size=array.shape), inputs)

    def loss(distance):
        moved = mapped(lambda array, along: array + distance * along, inputs, direction)
        return np.sum(cotangent * layer(*moved.values())[0])

    slope = (loss(STEP) - loss(-STEP)) / (2 * STEP)
    predicted = sum(np.sum(g * along) for _, (g, along) in leaves(mapped(lambda a, b: (a, b), gradients, direction)))
    return abs(predicted / slope - 1)


# --- Twins ---


def attention(allowed=None):
    """Return the twin of attention: scaled_dot_product_attention."""
    mask = None if allowed is None else torch and torch.tensor(allowed)
    return lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def self_attention(x, *projections):
    """The twin of self-attention: three linear layers, whose weights PyTorch stores transposed."""
    return attention()(*(functional.linear(x, w.T) for w in projections))


def multi_head_attention(widths, n_heads, mask=None):
    """Return the twin of multi-head attention: nn.MultiheadAttention, for inputs of these widths."""

    def twin(queries, keys, values, params):
        module = _without_numbers(
            torch.nn.MultiheadAttention, widths[0], n_heads, kdim=widths[1], vdim=widths[2], batch_first=True
        )
        hidden = None if mask is None else ~torch.tensor(mask)
        roles = (queries, keys, values)
        state = _packed(params, len(set(widths)) > 1)
        return torch.func.functional_call(module, state, roles, {"attn_mask": hidden, "need_weights": False})[0]

    return twin


def layer_norm(x, gain, bias):
    """The twin of a layer norm."""
    return functional.layer_norm(x, gain.shape, gain, bias)


def encoder_layer(d_model, n_heads, d_ff, mask=None):
    """Return the twin of an encoder layer: nn.TransformerEncoderLayer."""

    def twin(x, params):
        module = _without_numbers(torch.nn.TransformerEncoderLayer, d_model, n_heads, d_ff, dropout=0, batch_first=True)
        state = _layer(params, {"self_attn": "attention"}, ("attention", "feed_forward"))
        hidden = None if mask is None else ~torch.tensor(mask)
        return torch.func.functional_call(module, state, (x,), {"src_mask": hidden})

    return twin


def decoder_layer(d_model, n_heads, d_ff, future, padding):
    """Return the twin of a decoder layer: nn.TransformerDecoderLayer, with masks in which True means hidden."""

    def twin(x, memory, params):
        module = _without_numbers(torch.nn.TransformerDecoderLayer, d_model, n_heads, d_ff, dropout=0, batch_first=True)
        attentions = {"self_attn": "attention", "multihead_attn": "cross_attention"}
        state = _layer(params, attentions, ("attention", "cross_attention", "feed_forward"))
        masks = {"tgt_mask": torch.tensor(future), "memory_key_padding_mask": torch.tensor(padding)}
        return torch.func.functional_call(module, state, (x, memory), masks)

    return twin


def modern_layer(n_heads):
    """Return the twin of chapter 12's layer, made of PyTorch's parts; a pair of columns turns as a complex number."""

    def twin(x, params):
        weights, wide = params["attention"], params["feed_forward"]
        d_key, positions = x.shape[-1] // n_heads, torch.arange(x.shape[-2], dtype=x.dtype)
        speeds = 10000.0 ** (-torch.arange(0, d_key, 2, dtype=x.dtype) / d_key)
        turns = torch.polar(torch.ones_like(torch.outer(positions, speeds)), torch.outer(positions, speeds))

        def norm(x, gain):
            return functional.rms_norm(x, gain.shape, gain, eps=1e-5)

        def heads(rows):
            return rows.unflatten(-1, (-1, d_key)).transpose(-2, -3)

        def turned(rows):
            pairs = torch.view_as_complex(rows.unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * turns).flatten(-2)

        normed = norm(x, params["norm_attention"])
        queries, keys = (turned(heads(normed @ weights[name])) for name in ("w_query", "w_key"))
        values = heads(normed @ weights["w_value"])
        attended = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
        hidden = x + attended.transpose(-2, -3).flatten(-2) @ weights["w_output"]
        normed = norm(hidden, params["norm_feed_forward"])
        return hidden + (functional.silu(normed @ wide["w_gate"]) * (normed @ wide["w_up"])) @ wide["w_down"]

    return twin


def _without_numbers(kind, *sizes, **options):
    """Return a module whose parameters are shapes only: the call brings the numbers."""
    with torch.device("meta"):
        return kind(*sizes, **options)


def _packed(params, apart=False):
    """Return the parameters of a multi-head attention under PyTorch's names."""
    state = {"out_proj.weight": params["w_output"].T, "out_proj.bias": params["b_output"]}
    weights = [params[f"w_{role}"].T for role in ROLES]
    state["in_proj_bias"] = torch.cat([params[f"b_{role}"] for role in ROLES])
    if apart:
        return state | {f"{role[0]}_proj_weight": weight for role, weight in zip(ROLES, weights, strict=True)}
    return state | {"in_proj_weight": torch.cat(weights)}


def _layer(params, attentions, sub_layers):
    """Return the parameters of an encoder or decoder layer under PyTorch's names."""
    state = {
        f"{place}.{name}": tensor
        for place, part in attentions.items()
        for name, tensor in _packed(params[part]).items()
    }
    for number, sub_layer in enumerate(sub_layers, start=1):
        norm = params[f"norm_{sub_layer}"]
        state |= {f"norm{number}.weight": norm["gain"], f"norm{number}.bias": norm["bias"]}
    thinking = params["feed_forward"]
    for number, end in ((1, "in"), (2, "out")):
        state |= {f"linear{number}.weight": thinking[f"w_{end}"].T, f"linear{number}.bias": thinking[f"b_{end}"]}
    return state
