"""quantise_groups: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import since as reference

quantise_groups = Exercise(
    reference.quantise_groups,
    outputs={"codes": "n_in n_out", "scales": "n_groups n_out"},
    order=("scales", "codes"),
    section="Fewer bits for each weight",
)


def matrix(draw, n_in, n_out, dtype=np.float64):
    """Return weights whose rows have different sizes, so that each group needs a scale of its own."""
    return (draw.normal(n_in, n_out) * np.exp(draw.normal(n_in, 1))).astype(dtype)


@quantise_groups.cases("full groups", points=2)
def _(draw):
    n_groups, size, n_out = draw.sizes(3, low=2, high=7)
    yield "8 bits", {"weight": matrix(draw, n_groups * size, n_out), "size": size, "bits": 8}
    yield "4 bits", {"weight": matrix(draw, n_groups * size, n_out), "size": size, "bits": 4}
    positive = 1 + np.abs(matrix(draw, n_groups * size, n_out))
    yield "3 bits, numbers of one sign", {"weight": -positive, "size": size, "bits": 3}


@quantise_groups.cases("a group that is not full", points=1)
def _(draw):
    n_groups, size, n_out = draw.sizes(3, low=3, high=7)
    yield "one row in the last group", {"weight": matrix(draw, n_groups * size + 1, n_out), "size": size, "bits": 8}
    yield "one row missing", {"weight": matrix(draw, n_groups * size - 1, n_out), "size": size, "bits": 4}
    yield "fewer rows than a group", {"weight": matrix(draw, size - 1, n_out), "size": size, "bits": 8}


@quantise_groups.cases("zeros and float32", points=1)
def _(draw):
    n_groups, size, n_out = draw.sizes(3, low=2, high=7)
    weight = matrix(draw, n_groups * size, n_out)
    weight[:size] = 0
    yield "a group of zeros in each column", {"weight": weight, "size": size, "bits": 8}
    yield "very small weights", {"weight": 1e-12 * matrix(draw, n_groups * size, n_out), "size": size, "bits": 8}
    yield "float32", {"weight": matrix(draw, n_groups * size, n_out, np.float32), "size": size, "bits": 8}


def stored(weight, size, bits, **put):
    """Quantise group by group, with parts replaced.

    put: `most`, from bits to the largest code; `largest`, from a group to the number that gets it; `scaled`, from
    scales to others; `rounded`, from quotients to codes; `divisor`, from scales to what the weights are divided by.
    """
    most = put.get("most", lambda bits: 2 ** (bits - 1) - 1)(bits)
    largest = put.get("largest", lambda group: np.abs(group).max(axis=0))
    rounded = put.get("rounded", np.round)
    scaled = put.get("scaled", lambda scale: scale)
    divisor = put.get("divisor", lambda scale: np.where(scale > 0, scale, 1))
    codes, scales = np.zeros(weight.shape, np.int8), []
    with np.errstate(all="ignore"):
        for first in range(0, len(weight), size):
            group = weight[first : first + size]
            scale = scaled((largest(group) / weight.dtype.type(most)).astype(weight.dtype))
            codes[first : first + size] = rounded(group / divisor(scale)).astype(int).astype(np.int8)
            scales.append(scale)
    return codes, np.array(scales)


@quantise_groups.mistake("divides by a power of two")
def power_of_two(weight, size, bits=8):
    """The scale is the largest magnitude divided by `2**(bits - 1)`. The largest positive number then gets a code that
    is one more than the largest allowed code: with 8 bits it is 128, which wraps around to -128. Divide by `2**(bits -
    1) - 1`."""
    return stored(weight, size, bits, most=lambda bits: 2 ** (bits - 1))


@quantise_groups.mistake("uses all codes for magnitudes")
def bits_for_the_sign(weight, size, bits=8):
    """You divide by `2**bits - 1`, but one of the bits is needed for the sign. The largest code is `2**(bits - 1) - 1`.
    (Codes above 127 also wrap around in int8.)"""
    return stored(weight, size, bits, most=lambda bits: 2**bits - 1)


@quantise_groups.mistake("always has 8 bits")
def always_8(weight, size, bits=8):
    """Your scales are those of 8 bits, whatever `bits` is. The largest code is `2**(bits - 1) - 1`."""
    return stored(weight, size, bits, most=lambda bits: 127)


@quantise_groups.mistake("takes the largest number, not the largest magnitude")
def without_magnitudes(weight, size, bits=8):
    """The scale comes from the largest number of the group, with its sign. A large negative number then gets a code
    beyond -m, and a group of negative numbers a negative scale. Take the largest magnitude."""
    return stored(
        *(weight, size, bits),
        largest=lambda group: group.max(axis=0),
        divisor=lambda scale: np.where(scale != 0, scale, 1),
    )


@quantise_groups.mistake("cuts the decimals off")
def truncated(weight, size, bits=8):
    """Conversion to integers cuts the decimals off, so a number may be off by almost a whole scale, always towards
    zero. Round to the nearest integer first: then the error is at most half a scale."""
    return stored(weight, size, bits, rounded=np.trunc)


@quantise_groups.mistake("rounds down")
def floored(weight, size, bits=8):
    """`np.floor` (or `//`) rounds towards minus infinity, so all numbers come back too small, by up to a whole scale.
    Round to the nearest integer: then the error is at most half a scale."""
    return stored(weight, size, bits, rounded=np.floor)


@quantise_groups.mistake("adds one half and cuts the decimals off")
def half_added(weight, size, bits=8):
    """You add 0.5 and convert to integers, which rounds positive numbers only. A conversion cuts towards zero, so -2.0
    becomes -1. `np.round` rounds both signs."""
    return stored(weight, size, bits, rounded=lambda quotients: np.trunc(quotients + 0.5))


@quantise_groups.mistake("divides zeros by zero")
def zero_by_zero(weight, size, bits=8):
    """A group of zeros has the scale 0, and 0/0 is NaN, which no integer can represent, so the codes of the group are
    not 0. Divide such a group by 1, for example."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    spoilt = np.repeat(scales == 0, size, axis=0)[: len(weight)]
    return np.where(spoilt, -128, codes).astype(np.int8), scales


@quantise_groups.mistake("adds {number} to the scales", number=(1e-8, 1e-5, 1e-6, 1e-9, 1e-10, 1e-12))
def scales_with_a_little(weight, size, bits=8, *, number):
    """You add {number} to the scales, so that a group of zeros is not divided by zero. But every other scale is wrong
    then, and small weights become 0. Divide a group of zeros by 1, for example."""
    return stored(weight, size, bits, scaled=lambda scale: scale + scale.dtype.type(number))


@quantise_groups.mistake("adds a small number to what it divides by")
def divided_by_a_little_more(weight, size, bits=8):
    """You add a number such as 1e-8 to the scale when you divide by it. For large weights the codes stay as they are,
    but those of small weights become 0. Divide by the scale itself, and a group of zeros by 1, for example."""
    return stored(weight, size, bits, divisor=lambda scale: scale + scale.dtype.type(1e-8))


@quantise_groups.mistake("gives a group of zeros the scale 1")
def scale_of_one(weight, size, bits=8):
    """Your codes are right, but a group of zeros has the scale 1. Divide by 1 there, and return 0, as the formula
    says."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    return codes, np.where(scales > 0, scales, 1).astype(scales.dtype)


@quantise_groups.mistake("has one scale for each column")
def whole_columns(weight, size, bits=8):
    """Each column has a single scale, as if all its rows were one group. One large number then makes the whole column
    coarse. Each group of `size` rows has a scale of its own."""
    return stored(weight, len(weight), bits)


@quantise_groups.mistake("has one scale for all columns")
def columns_together(weight, size, bits=8):
    """The maximum runs over all columns, so all columns share the scales. Take it over the rows of the group, for each
    column by itself."""
    return stored(weight, size, bits, largest=lambda group: np.full(group.shape[1], np.abs(group).max()))


@quantise_groups.mistake("groups neighbouring columns")
def along_rows(weight, size, bits=8):
    """You group `size` neighbours of a row. The groups run down the columns, along the axis over which a product with x
    is summed."""
    codes, scales = reference.quantise_groups(weight.T.copy(), size, bits)
    return codes.T, scales.T


@quantise_groups.mistake("deals the rows to the groups in turn")
def dealt(weight, size, bits=8):
    """Rows that are far apart share a scale: the reshape has the groups on the second axis and the places within a
    group on the first. `size` *neighbouring* rows form a group: (n_groups, size, n_out)."""
    n_in, n_groups = len(weight), -(-len(weight) // size)
    order = np.argsort(np.arange(n_in) % n_groups, kind="stable")
    codes = np.zeros(weight.shape, np.int8)
    groups = [order[order % n_groups == g] for g in range(n_groups)]
    scales = []
    for rows in groups:
        codes[rows], scale = reference.quantise_groups(weight[rows], len(rows), bits)
        scales.append(scale[0])
    return codes, np.array(scales)


@quantise_groups.mistake("leaves out the rows of a group that is not full")
def rest_left_out(weight, size, bits=8):
    """The rows of the last group are missing, because it is not full. It is stored like the others, with a scale of its
    own."""
    return reference.quantise_groups(weight[: len(weight) // size * size], size, bits)


@quantise_groups.mistake("returns the padding, too")
def padding_returned(weight, size, bits=8):
    """You fill the last group with zeros, and return their codes. That is a good way to compute the scales, but `codes`
    has as many rows as `weight`."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    missing = -len(weight) % size
    return np.vstack([codes, np.zeros((missing, weight.shape[1]), np.int8)]), scales


@quantise_groups.mistake("joins a group that is not full to the one before")
def joined(weight, size, bits=8):
    """The last rows share the scale of the group before them, so that group is larger than `size`. Make the last rows a
    smaller group of their own."""
    n_full = max(len(weight) // size, 1)
    starts = [size * g for g in range(n_full)]
    parts = [stored(group, max(len(group), 1), bits) for group in np.split(weight, starts[1:])]
    return np.vstack([codes for codes, _ in parts]), np.vstack([scales for _, scales in parts])


@quantise_groups.mistake("returns the scales in float64")
def scales_in_double(weight, size, bits=8):
    """The weights are float32, but your scales are float64. A NumPy array of integers, or a float64 array of zeros, in
    the computation does that. Keep the dtype of `weight`."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    return codes, scales.astype(np.float64)


@quantise_groups.mistake("returns the restored weights")
def restored(weight, size, bits=8):
    """You return codes times scales, which are close to the weights and need as much memory as they do. Return the
    integers, as int8."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    return codes * np.repeat(scales, size, axis=0)[: len(weight)], scales


@quantise_groups.mistake("returns the codes as floats")
def codes_as_floats(weight, size, bits=8):
    """Your codes are whole numbers, but their dtype is not int8, so they need more memory than necessary.
    `.astype(np.int8)` stores each in one byte."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    return codes.astype(weight.dtype), scales


@quantise_groups.mistake("stores each code in eight bytes")
def codes_in_eight_bytes(weight, size, bits=8):
    """Your codes are int64, which `.astype(int)` makes: eight bytes for each code, as many as a float64 needs.
    `.astype(np.int8)` stores each in one byte."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    return codes.astype(np.int64), scales


@quantise_groups.equivalent
def group_by_group(weight, size, bits=8):
    return stored(weight, size, bits)


@quantise_groups.equivalent
def by_reduceat(weight, size, bits=8):
    starts = np.arange(0, len(weight), size)
    scales = np.maximum.reduceat(np.abs(weight), starts, axis=0) / weight.dtype.type(2 ** (bits - 1) - 1)
    for_rows = scales[np.arange(len(weight)) // size]
    return np.rint(weight / np.where(for_rows == 0, 1, for_rows)).astype(np.int8), scales


@quantise_groups.equivalent
def entry_by_entry(weight, size, bits=8):
    most = 2 ** (bits - 1) - 1
    codes = np.zeros(weight.shape, np.int8)
    scales = np.zeros((-(-len(weight) // size), weight.shape[1]), weight.dtype)
    for i, j in np.ndindex(weight.shape):
        g = i // size
        largest = max(abs(entry) for entry in weight[g * size : (g + 1) * size, j])
        scales[g, j] = largest / weight.dtype.type(most)
        if largest > 0:
            codes[i, j] = round(float(weight[i, j] / scales[g, j]))
    return codes, scales
