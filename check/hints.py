"""Hints about exceptions that many students meet, chosen by the exception's message and by the line that raised it."""

import re

from check.calling import Raised
from check.key import Key
from check.operands import ANY, DEFINITION, NEEDED
from check.torch_words import in_numpy
from check.words import listed

_PRODUCT = re.compile(r"^matmul: |not aligned|remapped shapes")
_BROADCAST = re.compile(r"operands could not be broadcast together with shapes \(([\d,]+)\) \(([\d,]+)\)")
_TUPLE = re.compile(r"inhomogeneous shape|'tuple' object has no attribute|unsupported operand .*'tuple'")
_TRANSPOSED = re.compile(r"\.T\b|\.transpose\(\)")
_LARGEST = re.compile(r"(?<![\w.])(max|min)\(")
_WANTS_TRUTH = re.compile(r"\b(?:if|elif|while|and|or|not|assert|any|all)\b")
_METHOD = re.compile(r"'(?:builtin_function_or_method|method)'")
_AXES_FROM_THE_FRONT = re.compile(r"\b(?:swapaxes|moveaxis|transpose)\((?:\w+, *)?\d+, *\d+[\d, ]*\)")
# A pattern in a message -> a hint.
_OTHERS = {
    r"^'float' object cannot be interpreted as an integer": " `/` makes a float, and `//` a whole number.",
    r"^'(?:tuple|list)' object cannot be interpreted as an integer": (
        " Take one of its items, or unpack it with a star, as in `x.reshape(*batch, 6)`."
    ),
    r"^'numpy.ndarray' object is not callable": (
        " A product of matrices is `x @ w`, and an entry of an array is `x[i]`."
    ),
    r"^'dict' object has no attribute": " An entry of a dict is read with its key, as in `params['w_query']`.",
    r"^list indices must be .* not str": (
        " A list of dicts needs a number first, as in `layers[0]['attention']`, or a loop over its items."
    ),
    r"^unsupported operand .*'dict'|not supported between .*'dict'": (
        " An operator does not reach the arrays in a dict. Apply it to each array, in a loop or with `map_tree`."
    ),
    r"^'numpy\.ndarray' object has no attribute '(?:values|items|keys)'": " Only a dict has it, and this is an array.",
    r"^boolean index did not match": (
        " Square brackets do not repeat a mask along its axes of length 1; `np.where(mask, a, b)` does."
    ),
}


def hint(key: Key, raised: Raised) -> str:
    """A sentence, with a space in front, about the likely cause of an exception; "" if none is known."""
    return (
        _about_the_call(key, raised)
        or _about_a_star(raised)
        or in_numpy(raised.message, raised.line)
        or _about_a_lost_axis(raised.message)
        or _about_axes(raised)
        or _about_a_truth_value(raised)
        or _about_a_missing_value(raised.message)
        or _about_a_tuple(raised)
        or _about_a_method(raised)
        or _about_unpacking(raised)
        or next((sentence for pattern, sentence in _OTHERS.items() if re.search(pattern, raised.message)), "")
    )


def _about_the_call(key: Key, raised: Raised) -> str:
    """How `check` calls a function, if that call failed: then no line of a cell was reached."""
    definition = next((place for place in raised.places if place.operation == DEFINITION), None)
    bad_call = re.match(r"(\S+?)(\.__init__|\.forward)?\(\) .*\bargument", raised.message)
    if not bad_call or raised.line or not (definition or bad_call[1] in (key.function, "<lambda>")):
        return ""
    name, method = bad_call.groups()
    if method:
        return " Its parameters must have the names that the released cell gave them."
    passed = list(dict.fromkeys(name for case in key.cases for name in case.inputs))
    call = f" `check` calls `{key.function}({', '.join(passed)})`"
    if not definition:  # we grade, or Python does not know the parameters
        return f"{call}: your parameters must have these names."
    own = [operand.source for operand in definition.operands]
    takes_any = any(operand.words == ANY for operand in definition.operands)
    lacking = [] if takes_any else [name for name in passed if name not in own]
    unknown = [o.source for o in definition.operands if o.words == NEEDED and o.source not in passed]
    if not lacking and not unknown:
        return f"{call}: your parameters must have these names, without `/` after them."
    line = "your `lambda`" if name.endswith("<lambda>") else "your `def` line"
    lacks = [f"lacks {_names(lacking)}"] if lacking else []
    asks = [f"asks for {_names(unknown)}, which it does not get"] if unknown else []
    them, default = ("them", "defaults") if len(unknown) > 1 else ("it", "a default")
    advice = "" if lacking else f". Leave {them} out, or give {them} {default}"
    return f"{call}: {line} {', and '.join(lacks + asks)}{advice}."


def _names(names: list[str]) -> str:
    return listed(f"`{name}`" for name in names)


def _about_a_star(raised: Raised) -> str:
    """A hint if a call passes by position what a function takes by name only."""
    takes_names = any("*, " in operand.words for place in raised.places for operand in place.operands)
    by_place = "positional argument" in raised.message and " given" in raised.message
    return " Pass what follows `*` by name, as in `axis=-1`." if takes_names and by_place else ""


def _about_a_lost_axis(message: str) -> str:
    """A hint if two shapes cannot be broadcast because one of them lost its last axis."""
    shapes = _BROADCAST.match(message)
    if not shapes:
        return ""
    one, other = ([int(n) for n in shape.strip(",").split(",")] for shape in shapes.groups())
    if len(one) == len(other) == 1:
        return (
            " If every entry of one belongs with every entry of the other, give the first a second axis: `a[:, None]`."
        )
    if one[:-1] != other and other[:-1] != one:
        return ""
    return " Was an axis summed away? `keepdims=True` keeps it, with length 1, and the shapes fit."


def _about_axes(raised: Raised) -> str:
    """A hint if the line that raised exchanges axes that a batch moves, or uses `np.dot`."""
    if raised.type not in ("ValueError", "AxisError"):
        return ""
    if from_the_front := _AXES_FROM_THE_FRONT.search(raised.line):
        return (
            f" `{from_the_front[0]}` counts axes from the front, and each batch axis moves the others back: count from "
            "the end. -1 and -2 are the last two, with and without a batch."
        )
    if not _PRODUCT.search(raised.message):
        return ""
    if "inner(" in raised.line:
        return ""
    if transposed := _TRANSPOSED.search(raised.line):
        return (
            f" `{transposed[0]}` reverses all axes, those of a batch too: "
            "`np.swapaxes` with -1 and -2 exchanges only the last two."
        )
    if "dot(" in raised.line:
        return " `np.dot` does not pair the matrices of two batches: `@` does."
    return ""


def _about_a_truth_value(raised: Raised) -> str:
    """A hint if an array is used where Python wants one truth value."""
    if not raised.message.startswith("The truth value of an array"):
        return ""
    if largest := _LARGEST.search(raised.line):
        return (
            f" Python's `{largest[1]}` compares whole arrays. `np.{largest[1]}imum(a, b)` compares them entry by "
            f"entry, and `np.{largest[1]}(a, axis=...)` looks along an axis."
        )
    if not _WANTS_TRUTH.search(raised.line):
        return " An array of several entries stands where a single number, or one True or False, is expected."
    return (
        " `if`, `and`, `or` and `not` want one True or False. For arrays, write `&`, `|` and `~`, which work entry by "
        "entry, and `np.where(mask, a, b)` instead of `if`."
    )


def _about_a_missing_value(message: str) -> str:
    """A hint if Python says that a value is None."""
    if "NoneType" not in message:
        return ""
    return (
        " A function that ends without `return` gives None, and a parameter may be None, such as a mask that was left "
        "out."
    )


def _about_unpacking(raised: Raised) -> str:
    """A hint if a shape is unpacked into too many or too few names."""
    if "values to unpack" not in raised.message or ".shape" not in raised.line:
        return ""
    return (
        " A shape has an entry for each axis, and their number differs from case to case. Count from the end: "
        "`x.shape[-1]` is the last one, and `*batch, T, d = x.shape` puts all but the last two into `batch`."
    )


def _about_a_tuple(raised: Raised) -> str:
    """A hint if a tuple is used as an array."""
    if not _TUPLE.search(raised.message):
        return ""
    return (
        " Did you use a tuple as an array? A function that ends with `return output, cache` returns a tuple: take it "
        "apart, `output, cache = ...`."
    )


def _about_a_method(raised: Raised) -> str:
    """A hint if a method is used as a value, because its parentheses are missing."""
    if raised.type != "TypeError" or not _METHOD.search(raised.message):
        return ""
    return " Are the parentheses after a method's name missing? `x.max` is the method, `x.max()` its result."
