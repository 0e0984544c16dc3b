"""Harm a student's own function that checks a draft: change its arguments or the tokens that it returns.

The function gets draft (n,), small (n, vocab), large (n + 1, vocab), chances (n,) and place, and returns 1 to n + 1
tokens. If there are at most n, the last one replaces a refused guess.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def _with_chances(change: Callable[[np.ndarray], np.ndarray]) -> Callable:
    def harm(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
        return function(draft, small, large, change(np.asarray(chances)), place)

    return harm


def _exchanged(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    return function(draft, large[: len(draft)], np.concatenate([small, large[len(draft) :]]), chances, place)


def _first_row(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    first_rows = np.repeat(large[:1], len(large), axis=0)
    return function(draft, np.repeat(small[:1], len(draft), axis=0), first_rows, chances, place)


def _row_too_late(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    return function(draft, small, np.concatenate([large[1:], large[-1:]]), chances, place)


def _without_draft(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    return function(draft[:0], small[:0], large[:1], chances[:0], place)


def _of_tokens(change: Callable) -> Callable:
    """The harm that changes the tokens if a guess of the draft is refused.

    change: (tokens, draw, draft, small, large, chances) -> other tokens. `draw` uses the student's own function to
        draw a token from a row of probabilities, by default at `place`.
    """

    def harm(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
        def draw(row: np.ndarray, at: float = place) -> Any:
            return np.asarray(function(draft[:0], small[:0], row[np.newaxis], chances[:0], at))[-1:]

        tokens = np.asarray(function(draft, small, large, chances, place))
        if len(tokens) > len(draft):
            return tokens
        return change(tokens, draw, draft, small, large, chances)

    return harm


def _missing(tokens: np.ndarray, small: np.ndarray, large: np.ndarray) -> np.ndarray:
    """The probabilities of the token that replaces a refused guess."""
    i = len(tokens) - 1
    missing = np.maximum(large[i] - small[i], 0)
    return missing / missing.sum()


def _whole_draft_alone(function: Callable, draft: Any, *others: Any) -> Any:
    return function(draft, *others)[: max(len(draft), 1)]


def _writes_into_chances(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    tokens = function(draft, small, large, chances, place)
    chances *= 0.5
    return tokens


DRAFT_HARMS: dict[str, tuple[str, Callable]] = {
    "accepts all": ("accepts every guess that the large model may write", _with_chances(np.zeros_like)),
    "too willing": ("accepts guesses too often", _with_chances(lambda chances: 0.7 * chances)),
    "too strict": ("accepts a guess only where the large model gives it more", _with_chances(np.ones_like)),
    "exchanged models": ("exchanges the two models", _exchanged),
    "first probabilities": ("uses the first row of both models for all tokens", _first_row),
    "row too late": ("reads the large model's probabilities one row too late", _row_too_late),
    "no draft": ("throws the draft away and draws one token from the large model", _without_draft),
    "no free token": ("writes no token after a draft that is accepted whole", _whole_draft_alone),
    "writes into chances": ("writes into the chances", _writes_into_chances),
    "replaced from large": (
        "draws the replacement from the large model",
        _of_tokens(lambda tokens, draw, draft, small, large, _: np.append(tokens[:-1], draw(large[len(tokens) - 1]))),
    ),
    "likeliest replacement": (
        "always takes the token that is missing most",
        _of_tokens(
            lambda tokens, draw, draft, small, large, _: np.append(tokens[:-1], _missing(tokens, small, large).argmax())
        ),
    ),
    "chance again": (
        "uses the chance that refused a guess for its replacement, too",
        _of_tokens(
            lambda tokens, draw, draft, small, large, chances: np.append(
                tokens[:-1], draw(_missing(tokens, small, large), float(chances[len(tokens) - 1]))
            )
        ),
    ),
    "rest of the draft": (
        "keeps the guesses after a refused one",
        _of_tokens(lambda tokens, draw, draft, *_: np.append(tokens, draft[len(tokens) :])),
    ),
}


def _from_the_end(number: Any) -> Any:
    """1 minus each number, which is just as uniform on [0, 1); for 0, the largest float below 1."""
    return np.minimum(1 - np.asarray(number), 1 - 2**-53)


def _place_from_the_end(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    return function(draft, small, large, chances, float(_from_the_end(place)))


def _shifted(function: Callable, draft: Any, small: Any, large: Any, chances: Any, place: float) -> Any:
    return function(draft, small, large, (np.asarray(chances) + 1 / 3) % 1, (place + 1 / 3) % 1)


# Harmless changes: the tokens keep their distribution, but the same chances and place give different tokens.
DRAFT_CHANGES: dict[str, tuple[str, Callable]] = {
    "other chances": ("which gets 1 - chance for each chance", _with_chances(_from_the_end)),
    "other place": ("which gets 1 - place for the place", _place_from_the_end),
    "shifted numbers": ("which gets each chance and the place plus 1/3, and 1 less where that is 1 or more", _shifted),
}
