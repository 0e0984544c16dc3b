"""Copy the few models that distinguish mistakes. A copy behaves like its model, and each submission has its own.

Searching for a model on which all mistakes of an exercise show takes dozens of decodings. So each process searches for
a few models, and a submission gets a copy of one of them, with other numbers for its words and other parameters.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from autograder.authoring.exercise import Draw
from autograder.exercises.model.shared import MARKS, SPECIAL

N_MODELS = 4  # models for each search; a process that grades a small class uses nearly all

Inputs = dict[str, Any]


def copies(draw: Draw, search: Callable[..., Inputs], *options: Any) -> Iterator[Inputs]:
    """Yield copies of inputs that a search finds, each with a different model.

    search: a function of a Draw and of the options, which must be hashable. It returns the inputs of a decoder.
    """
    for number in draw.rng.permutation(N_MODELS).tolist():
        yield copied(draw, _found(search, options, number))


@cache
def _found(search: Callable[..., Inputs], options: tuple[Any, ...], number: int) -> Inputs:
    return search(Draw(number), *options)


def copied(draw: Draw, inputs: Inputs) -> Inputs:
    """Return the same inputs with other words, and with a model that computes the same from other parameters.

    The marks keep their numbers, and so do the tokens that are marks by default. All sentences except the first are in
    a different order.
    """
    params, src = inputs["params"], inputs["src"]
    tables = params["embeddings"]
    kept = {*range(SPECIAL), *(inputs[mark] for mark in MARKS)}
    read, written = (_shuffled(draw, len(tables[role]), kept) for role in ("source", "target"))
    src = np.argsort(read)[src]
    return inputs | {
        "params": {
            "embeddings": {role: table[read if role == "source" else written] for role, table in tables.items()},
            "encoder": [_layer(draw, layer) for layer in params["encoder"]],
            "decoder": [_layer(draw, layer) for layer in params["decoder"]],
        },
        "src": np.concatenate([src[:1], draw.rng.permutation(src[1:])]) if src.ndim == 2 else src,
    }


def _shuffled(draw: Draw, count: int, kept: set[int]) -> np.ndarray:
    """Shuffle the numbers below `count`, except those in `kept`."""
    order = np.arange(count)
    moved = np.array([number for number in range(count) if number not in kept])
    order[moved] = draw.rng.permutation(moved)
    return order


def _layer(draw: Draw, layer: dict[str, Any]) -> dict[str, Any]:
    changes = {"attention": _attention, "cross_attention": _attention, "feed_forward": _feed_forward}
    return layer | {name: change(draw, layer[name]) for name, change in changes.items() if name in layer}


def _attention(draw: Draw, params: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Multiply queries and values by positive numbers, and divide keys and the rows of `w_output` by them."""
    scores, heads = _factors(draw, params["b_query"]), _factors(draw, params["b_value"])
    scales = {"query": scores, "key": 1 / scores, "value": heads}
    scaled = {f"{kind}_{role}": scale * params[f"{kind}_{role}"] for role, scale in scales.items() for kind in "wb"}
    return params | scaled | {"w_output": params["w_output"] / heads[:, None]}


def _feed_forward(draw: Draw, params: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Multiply the hidden units by positive numbers before the ReLU, and divide by them after it."""
    units = _factors(draw, params["b_in"])
    return params | {
        "w_in": units * params["w_in"],
        "b_in": units * params["b_in"],
        "w_out": params["w_out"] / units[:, None],
    }


def _factors(draw: Draw, like: np.ndarray) -> np.ndarray:
    return draw.rng.uniform(0.7, 1.4, size=like.shape)
