"""What exercises that ask for weights share: the sentences on which the weights are measured."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograder.authoring.exercise import Draw


def sentences(draw: Draw, low: int, high: int, asks: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield sentences of full length, of a single repeated word, and of three words.

    Args:
        draw: the aspect's.
        low, high: the number of words and the greatest length are drawn from low to high - 1; low is at least 3.
        asks: the properties to measure.
    """
    n_words, length = draw.sizes(2, low=low, high=high)
    inputs = {"n_words": n_words, "length": length, "asks": asks}
    yield "sentences of full length", inputs | {"words": draw.tokens(5, length, vocab=n_words, low=0)}
    yield "one word again and again", inputs | {"words": np.full((1, length), n_words - 1)}
    first, second, third = draw.rng.permutation(n_words)[:3]
    yield "three words", inputs | {"words": np.array([[first, second, third], [second, second, first]])}
