"""Say in our words what an exception of NumPy or Python means, and what the values of its expression are.

In grading a message could carry hidden inputs, so the sentences have no numbers there.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from check.calling import Raised
from check.numpy_errors import INNER, NUMPY_ERRORS
from check.operands import DEFINITION, NUMBER, TAKES, Operand, Place
from check.python_errors import KINDS, PYTHON_ERRORS

_TYPES = ("ValueError", "IndexError", "AxisError", "TypeError", "AttributeError")
_MEANINGS = NUMPY_ERRORS | PYTHON_ERRORS
# Only in these errors does it matter that a value is a single number.
_ABOUT_NUMBERS = re.compile(
    r"does not have enough dimensions|object (?:is not|has no)|has no len|scalar variable|zero-dim"
)
_ABOUT_ARGUMENTS = re.compile(r"\bargument")
_PRODUCTS = ("@", "np.matmul", "np.dot")


def in_our_words(raised: Raised) -> str:
    """Return what an error means, without a mark at its end; "" if it is in no table."""
    if raised.type not in _TYPES:
        return ""
    if "not aligned" in raised.message and "inner(" in raised.line and "dot(" not in raised.line:
        return INNER
    return _meaning(raised.message, raised.quoted)


@lru_cache(maxsize=256)
def _meaning(message: str, quoted: bool) -> str:
    """What a message means. An answer is compared with many mistakes, so the same few messages come often."""
    for pattern, sentence in _MEANINGS.items():
        if found := re.match(pattern, message):
            return _filled(sentence, found.groups("")) if quoted else re.sub(r"\[.*?\]", "", sentence)
    return ""


def in_its_own_words(raised: Raised) -> str:
    """Return the message of an error that our words replace, with a space in front; "" for any other error."""
    if not raised.quoted or not in_our_words(raised):
        return ""
    return f" The error itself says: “{raised.message.partition('; did you mean')[0].strip().rstrip('.')}”."


def about_operands(raised: Raised) -> str:
    """Describe each value in the expression that raised, with a space in front; "" if none is known.

    If a matrix product would fit with its operands exchanged or one transposed, say that too.
    """
    if not in_our_words(raised) and raised.type != "KeyError":
        return ""
    sentences = []
    for place in raised.places:
        if place.operation == DEFINITION:
            continue
        operands = [operand for operand in place.operands if _is_meant(operand, raised.message)]
        if operands:
            where = f"In `{place.function}`," if place.function else "Here"
            sentences.append(f" {where} {', '.join(f'`{o.source}` {o.words}' for o in operands)}.")
    if raised.places and "last axis of the left array" in in_our_words(raised):
        sentences.append(_about_a_product(raised.places[-1]))
    return "".join(sentences)


def _is_meant(operand: Operand, message: str) -> bool:
    """Return whether the kind of an operand may explain the error."""
    if operand.words.startswith(TAKES):
        return bool(_ABOUT_ARGUMENTS.search(message))
    return operand.words != NUMBER or bool(_ABOUT_NUMBERS.search(message))


def _about_a_product(place: Place) -> str:
    """The similar product of two operands that fits; "" if none does, or if the product is not the student's."""
    if place.function or place.operation not in _PRODUCTS:
        return ""
    arrays = [(operand.source, operand.shape) for operand in place.operands if operand.shape is not None]
    if len(arrays) != 2:
        return ""
    (left, left_shape), (right, right_shape) = arrays
    if len(left_shape) == 2 and right_shape and right_shape[-1] == left_shape[0]:
        why = "a vector is a row in this book, so its matrix stands on the right"
        return f" `{right} @ {left}` fits: {why}."
    if ".T" not in right and _fits_transposed(left_shape, right_shape):
        return f" `{left} @ np.swapaxes({right}, -1, -2)` fits."
    return ""


def _fits_transposed(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    if min(len(left), len(right)) < 2:
        return False
    try:
        np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        return False
    return left[-1] == right[-1]


def _filled(sentence: str, groups: Sequence[str]) -> str:
    # A single number fits every shape, so its empty shape explains nothing.
    words = [KINDS.get(group, group).strip().replace(") (", ") and (").replace("'", "`") for group in groups]
    words = [re.sub(r" and \(\)$|^\(\) and ", "", word) for word in words]
    return re.sub(r"[][]", "", sentence).format(*words)
