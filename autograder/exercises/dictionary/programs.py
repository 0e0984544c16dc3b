"""Wrong programs of chapter 12: each changes one function of the right program in a way that people do.

A program is a dict of "module.function" -> the changed function. `model_of` returns a model that calls the changed
functions. `found_by` says which of the chapter's tests see the change.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from solutions import backward, definer, dictionary, multihead, parameters, position, residual, training
from solutions.definitions import padded

Program = Mapping[str, Callable[..., Any]]
MODULES = {"definer": definer, "dictionary": dictionary, "multihead": multihead, "backward": backward}
SIZES = {"vocab": 13, "d_model": 24, "d_ff": 10, "n_layers": 2, "n_heads": 6, "n_groups": 2}


def slip(function: Callable[..., Any], *changes: tuple[str, str], **names: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose source differs from another one's by replaced texts, and which calls other functions.

    names: name that the function uses -> the function that it calls instead.
    """
    source = _source(function)
    for old, new in changes:
        if old not in source:
            raise ValueError(f"{function.__name__} has no {old!r}")
        source = source.replace(old, new)
    namespace = vars(inspect.getmodule(function)) | names
    exec(source, namespace)
    return namespace[function.__name__]


@cache
def _source(function: Callable[..., Any]) -> str:
    return inspect.getsource(function)


def halves(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Turn column i with column i + d/2 instead of with its neighbour."""
    pairs = np.arange(x.shape[-1]).reshape(2, -1).T.ravel()
    return position.rotate(x[..., pairs], positions)[..., np.argsort(pairs)]


def _look_up_once(grad_output: np.ndarray, cache: tuple[np.ndarray, int]) -> np.ndarray:
    tokens, vocab = cache
    table = np.zeros((vocab, grad_output.shape[-1]), grad_output.dtype)
    table[tokens] += grad_output
    return table * grad_output.dtype.type(grad_output.shape[-1] ** 0.5)


def _no_turn(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return x


def _gains_exchanged(x, params, n_heads):
    exchanged = params | {"norm_attention": params["norm_feed_forward"], "norm_feed_forward": params["norm_attention"]}
    return dictionary.modern_layer(x, exchanged, n_heads)


_turned_keys = 'rotate(split_heads(normed @ weights["w_key"], n_groups), positions)'
_summed_loss, _summed_loss_backward = (
    lambda logits, targets: (lambda loss, cache: (loss * len(cache[1]), cache))(
        *training.smoothed_cross_entropy(logits, targets)
    ),
    lambda grad_loss, cache: training.smoothed_cross_entropy_backward(grad_loss * len(cache[1]), cache),
)
RIGHT = "right"
_layer, _layer_backward = dictionary.modern_layer, dictionary.modern_layer_backward
_grouped_backward = multihead.grouped_query_attention_backward
_softmax_short = slip(backward.softmax_backward, ("grad_weights - ", "grad_weights - 0 * "))
PROGRAMS: dict[str, Program] = {
    RIGHT: {},
    "turns the values too": {
        "definer.modern_layer": slip(
            _layer,
            (
                'split_heads(normed @ weights["w_value"], n_groups)',
                'rotate(split_heads(normed @ weights["w_value"], n_groups), positions)',
            ),
        ),
        "definer.modern_layer_backward": slip(
            _layer_backward, ('("w_value", grad_values)', '("w_value", rotate_backward(grad_values, positions))')
        ),
    },
    "pairs column i with i + d/2": {
        "dictionary.rotate": halves,
        "dictionary.rotate_backward": lambda grad, positions: halves(grad, -positions),
    },
    "turns nothing": {"dictionary.rotate": _no_turn, "dictionary.rotate_backward": _no_turn},
    "turns the gradient forwards": {"dictionary.rotate_backward": position.rotate},
    "does not turn the gradient": {"dictionary.rotate_backward": _no_turn},
    "has a gate without its sigmoid": {"dictionary.sigmoid": np.ones_like},
    "has a sigmoid as its gate": {
        "dictionary.swiglu": slip(dictionary.swiglu, ("gate * sigmoid(gate) * up", "sigmoid(gate) * up")),
        "dictionary.swiglu_backward": slip(
            dictionary.swiglu_backward,
            ("(opening + opened * (1 - opening))", "opening * (1 - opening)"),
            ("(opened * up", "(opening * up"),
            ("grad_hidden * opened", "grad_hidden * opening"),
        ),
    },
    "forgets the second term of the gate's slope": {
        "dictionary.swiglu_backward": slip(
            dictionary.swiglu_backward, ("(opening + opened * (1 - opening))", "opening")
        )
    },
    "takes a group's gradient from its first head": {
        "dictionary.grouped_query_attention_backward": slip(_grouped_backward, (".sum(axis=-3)", "[..., 0, :, :]"))
    },
    "averages a group's gradient": {
        "dictionary.grouped_query_attention_backward": slip(_grouped_backward, (".sum(axis=-3)", ".mean(axis=-3)"))
    },
    "lets the heads of a group take turns": {
        "definer.modern_layer": slip(
            _layer,
            ("np.repeat(shared, n_heads // n_groups, axis=-3)", "np.concatenate([shared] * (n_heads // n_groups), -3)"),
        ),
        "dictionary.grouped_query_attention_backward": slip(
            _grouped_backward,
            ("np.repeat(shared, sharing, axis=-3)", "np.concatenate([shared] * sharing, -3)"),
            ("n_groups, sharing, *grad.shape[-2:]).sum(axis=-3)", "sharing, n_groups, *grad.shape[-2:]).sum(axis=-4)"),
        ),
    },
    "sees the next token": {
        "dictionary.causal_mask": lambda length: np.tri(length, k=1, dtype=bool),
    },
    "has no mask": {"dictionary.causal_mask": lambda length: np.ones((length, length), bool)},
    "does not divide the scores": {
        "definer.modern_layer": slip(
            _layer, ("masked_attention(queries,", "masked_attention(queries * queries.dtype.type(d_key**0.5),")
        ),
        "definer.modern_layer_backward": slip(
            _layer_backward,
            (
                "grad_queries, grad_keys, grad_values = grouped",
                "root = queries.shape[-1] ** 0.5\n    grad_queries, grad_keys, grad_values = grouped",
            ),
            ("rotate_backward(grad_queries", "rotate_backward(root * grad_queries"),
            ("rotate_backward(grad_keys", "rotate_backward(root * grad_keys"),
        ),
    },
    "forgets to divide the gradient of the scores": {
        "definer.modern_layer_backward": slip(
            _layer_backward,
            ("rotate_backward(grad_queries", "rotate_backward(queries.shape[-1] ** 0.5 * grad_queries"),
            ("rotate_backward(grad_keys", "rotate_backward(queries.shape[-1] ** 0.5 * grad_keys"),
        ),
    },
    "goes back through the softmax without its sum": {"backward.softmax_backward": _softmax_short},
    "goes back through the norm without the size": {
        name: slip(residual.rms_norm_backward, ("(grad_normalised - through_size)", "grad_normalised"))
        for name in ("dictionary.rms_norm_backward", "definer.rms_norm_backward")
    },
    "forgets what goes straight through": {
        "definer.modern_layer_backward": slip(
            _layer_backward, ("grad_hidden = grad_output + grad_through", "grad_hidden = grad_through")
        )
    },
    "counts a repeated token once": {"definer.embed_backward": _look_up_once},
    "forgets the table's gradient as the first layer": {
        "definer.embed_backward": lambda grad, cache: np.zeros((cache[1], grad.shape[-1]), grad.dtype)
    },
    "forgets the table's gradient as the last layer": {
        "definer.definer_backward": slip(definer.definer_backward, (" + grad_output_table", ""))
    },
    "does not scale the look-up": {
        "definer.embed": slip(position.embed, (" * math.sqrt(d_model)", "")),
        "definer.embed_backward": slip(position.embed_backward, (" * math.sqrt(d_model)", "")),
    },
    "has no last norm": {
        "definer.definer_forward": slip(
            definer.definer_forward, ('rms_norm(x, params["norm"])', 'x, (x, np.ones_like(x[..., :1]), params["norm"])')
        ),
        "definer.definer_backward": slip(
            definer.definer_backward,
            ("rms_norm_backward(grad_normed, norm_cache)", "grad_normed, np.zeros_like(norm_cache[2])"),
        ),
    },
    "lets the gains decay": {
        "definer.adamw_step": slip(
            dictionary.adamw_step, ("kept * array if array.ndim == 2 else array", "kept * array")
        )
    },
    "adds the decay to the gradient": {
        "definer.adamw_step": lambda params, gradients, moments, step, rate, decay: training.adam_step(
            params,
            parameters.map_tree(lambda g, p: g + decay * p if p.ndim == 2 else g, gradients, params),
            moments,
            step,
            rate,
            0.9,
            0.95,
            1e-8,
        )
    },
    "does not correct the moments": {
        "definer.adamw_step": lambda params, gradients, moments, step, rate, decay: dictionary.adamw_step(
            params, gradients, moments, 10**6, rate, decay
        )
    },
    "counts padding as a target": {
        "definer.smoothed_cross_entropy": lambda logits, targets: training.smoothed_cross_entropy(
            logits, targets, pad=-1
        )
    },
    "forgets to add x": {"definer.modern_layer": slip(_layer, ("hidden = x + merged", "hidden = merged"))},
    "uses each gain for the other norm": {"definer.modern_layer": _gains_exchanged},
    "turns the queries alone": {
        "definer.modern_layer": slip(_layer, (_turned_keys, 'split_heads(normed @ weights["w_key"], n_groups)'))
    },
    "does not add the feed-forward": {
        "definer.modern_layer": slip(_layer, ("return hidden + update,", "return hidden,"))
    },
    "counts positions from 1,000": {
        "dictionary.rotate": lambda x, positions: position.rotate(x, positions + 1000),
        "dictionary.rotate_backward": lambda grad, positions: position.rotate_backward(grad, positions + 1000),
    },
    "adds up the losses of all tokens": {
        "definer.smoothed_cross_entropy": _summed_loss,
        "definer.smoothed_cross_entropy_backward": _summed_loss_backward,
    },
}


def model_of(program: Program) -> SimpleNamespace:
    """Return the functions of `solutions.definer`, copied so that they call the functions of a program.

    They are copies because other threads call the right functions meanwhile.
    """
    spaces = {name: dict(vars(module)) for name, module in MODULES.items()}
    copies = {
        function: FunctionType(function.__code__, spaces[name], function.__name__, function.__defaults__)
        for name, module in MODULES.items()
        for function in vars(module).values()
        if isinstance(function, FunctionType) and function.__module__ == module.__name__
    }
    for space in spaces.values():
        functions = {name: value for name, value in space.items() if isinstance(value, FunctionType)}
        space |= {name: copies[value] for name, value in functions.items() if value in copies}
    for path, function in program.items():
        module, name = path.split(".")
        spaces[module][name] = function
    return SimpleNamespace(**spaces["definer"])


def found_by(program: Program) -> set[str]:
    """Return which of the chapter's tests see a program: "slope", "reference", "later token", "step"."""
    rng = np.random.default_rng(0)
    params = definer.fresh_definer(rng, **SIZES, dtype=np.float64)
    params = parameters.map_tree(lambda array: array + 0.3 * rng.normal(size=array.shape), params)
    direction = parameters.map_tree(lambda array: rng.normal(size=array.shape), params)
    tokens = padded(rng.integers(2, 13, (3, 7)).tolist())
    changed = tokens[:, :-1].copy()
    changed[:, -1] = (changed[:, -1] + 1) % 13
    right, _ = definer.definer_forward(params, tokens[:, :-1], SIZES["n_heads"])
    zeros = training.zero_moments(params)
    right_step, _ = dictionary.adamw_step(params, direction, zeros, 3, 0.01, 0.1)

    def moved(size: float) -> float:
        there = parameters.map_tree(lambda array, change: array + size * change, params, direction)
        logits, _ = model.definer_forward(there, tokens[:, :-1], SIZES["n_heads"])
        return float(model.smoothed_cross_entropy(logits, tokens[:, 1:])[0])

    model = model_of(program)
    logits, cache = model.definer_forward(params, tokens[:, :-1], SIZES["n_heads"])
    _, loss_cache = model.smoothed_cross_entropy(logits, tokens[:, 1:])
    gradients = model.definer_backward(model.smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    along = float(parameters.flatten(gradients) @ parameters.flatten(direction))
    measured = (moved(1e-6) - moved(-1e-6)) / 2e-6
    later, _ = model.definer_forward(params, changed, SIZES["n_heads"])
    step, _ = model.adamw_step(params, direction, zeros, 3, 0.01, 0.1)
    seen = {
        "slope": not np.isclose(along, measured, rtol=1e-5),
        "reference": not np.allclose(logits, right, atol=1e-9),
        "later token": not np.allclose(later[:, :-1], logits[:, :-1], atol=1e-9),
        "step": not np.allclose(parameters.flatten(step), parameters.flatten(right_step), atol=1e-12),
    }
    return {name for name, is_seen in seen.items() if is_seen}
