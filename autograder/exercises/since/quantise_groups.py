import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from solutions import since as reference

quantise_groups = Exercise(
    reference.quantise_groups,
    outputs={"codes": "n_in n_out", "scales": "n_groups n_out"},
    order=("scales", "codes"),
    section="Fewer bits for each weight",
)
wrong = short_mistakes(quantise_groups)
changed = changing(reference.quantise_groups)


def to_store(draw, n_in, n_out, size, bits, dtype=np.float64):
    """Draw weights whose rows have different sizes, so that each group needs a scale of its own. The largest is 1.

    No weight is near the middle between two codes, where a slightly different scale could change its code.
    """
    weight = draw.normal(n_in, n_out) * np.exp(draw.rng.uniform(-1.5, 1.5, (n_in, 1)))
    weight /= np.abs(weight).max()
    codes, scales = reference.quantise_groups(weight, size, bits)
    nearest = codes * np.repeat(scales, size, axis=0)[:n_in]
    return {"weight": (nearest + 0.9 * (weight - nearest)).astype(dtype), "size": size, "bits": bits}


@quantise_groups.cases("full groups", points=2)
def _(draw):
    n_groups, size, n_out = draw.sizes(3, low=2, high=7)
    yield "8 bits", to_store(draw, n_groups * size, n_out, size, 8)
    yield "4 bits", to_store(draw, n_groups * size, n_out, size, 4)
    yield "2 bits", to_store(draw, n_groups * size, n_out, size, 2)
    of_one_sign = to_store(draw, n_groups * size, n_out, size, 3)
    yield "3 bits, numbers of one sign", of_one_sign | {"weight": -1 - np.abs(of_one_sign["weight"])}


@quantise_groups.cases("a group that is not full", points=1)
def _(draw):
    n_groups, size, n_out = draw.sizes(3, low=3, high=7)
    yield "one row in the last group", to_store(draw, n_groups * size + 1, n_out, size, 8)
    yield "one row missing", to_store(draw, n_groups * size - 1, n_out, size, 4)
    yield "fewer rows than a group", to_store(draw, size - 1, n_out, size, 8)


@quantise_groups.cases("zeros and float32", points=1)
def _(draw):
    n_groups, size, n_out = draw.sizes(3, low=2, high=7)
    with_zeros = to_store(draw, n_groups * size, n_out, size, 8)
    with_zeros["weight"][:size] = 0
    yield "a group of zeros in each column", with_zeros
    small = to_store(draw, n_groups * size, n_out, size, 8)
    yield "very small weights", small | {"weight": 1e-12 * small["weight"]}
    yield "float32", to_store(draw, n_groups * size, n_out, size, 8, np.float32)


def stored(weight, size, bits=8, **put):
    """Quantise group by group, with parts replaced.

    put: `most`, from bits to the largest code; `largest`, from a group to the number that gets this code; `scaled`,
    from scales to changed scales; `rounded`, from quotients to codes; `divisor`, from scales to the divisors of the
    weights.
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
    is too large by one: with 8 bits it is 128, which wraps around to -128. Divide by `2**(bits - 1) - 1`."""
    return stored(weight, size, bits, most=lambda bits: 2 ** (bits - 1))


wrong("bits_for_the_sign", stored, most=lambda bits: 2**bits - 1)("""
    uses all codes for magnitudes
    You divide by `2**bits - 1`, but one of the bits is needed for the sign. The largest code is `2**(bits - 1) - 1`.
    (Codes above 127 also wrap around in int8.)""")
wrong("always_8", stored, most=lambda bits: 127)("""
    always has 8 bits
    Your scales are those of 8 bits, whatever `bits` is. The largest code is `2**(bits - 1) - 1`.""")
wrong(
    "without_magnitudes",
    stored,
    largest=lambda group: group.max(axis=0),
    divisor=lambda scale: np.where(scale != 0, scale, 1),
)("""
    takes the largest number, not the largest magnitude
    The scale comes from the largest number of the group, with its sign. A large negative number then gets a code beyond
    -m, and a group of negative numbers a negative scale. Take the largest magnitude.""")
wrong("truncated", stored, rounded=np.trunc)("""
    cuts the decimals off
    Conversion to integers cuts the decimals off, so a number may be off by almost a whole scale, always towards zero.
    Round to the nearest integer first: then the error is at most half a scale.""")
wrong("floored", stored, rounded=np.floor)("""
    rounds down
    `np.floor` (or `//`) rounds towards minus infinity, so all numbers come back too small, by up to a whole scale.
    Round to the nearest integer: then the error is at most half a scale.""")
wrong("half_added", stored, rounded=lambda quotients: np.trunc(quotients + 0.5))("""
    adds one half and cuts the decimals off
    You add 0.5 and convert to integers, which rounds positive numbers only. A conversion cuts towards zero, so -2.0
    becomes -1. `np.round` rounds both signs.""")


@quantise_groups.mistake("adds {number} to the scales", number=(1e-8, 1e-5, 1e-6, 1e-9, 1e-10, 1e-12))
def scales_with_a_little(weight, size, bits=8, *, number):
    """You add {number} to the scales, to avoid dividing a group of zeros by zero. But every other scale is wrong then,
    and small weights become 0. Divide a group of zeros by 1, for example."""
    return stored(weight, size, bits, scaled=lambda scale: scale + scale.dtype.type(number))


wrong("divided_by_a_little_more", stored, divisor=lambda scale: scale + scale.dtype.type(1e-8))("""
    adds a small number to what it divides by
    You add a number such as 1e-8 to the scale when you divide by it. The codes of large weights do not change, but
    those of small weights become 0. Divide by the scale itself, and a group of zeros by 1, for example.""")
wrong(
    "scale_of_one", changed, change=lambda codes, scales: (codes, np.where(scales > 0, scales, 1).astype(scales.dtype))
)("""
    gives a group of zeros the scale 1
    Your codes are right, but a group of zeros has the scale 1. Divide by 1 there, and return 0, as the formula
    says.""")
wrong("whole_columns", lambda weight, size, bits=8: stored(weight, len(weight), bits))("""
    has one scale for each column
    Each column has a single scale, as if all its rows were one group. One large number then makes the whole column
    coarse. Each group of `size` rows has a scale of its own.""")
wrong("columns_together", stored, largest=lambda group: np.full(group.shape[1], np.abs(group).max()))("""
    has one scale for all columns
    The maximum runs over all columns, so all columns share the scales. Take it over the rows of the group, for each
    column by itself.""")


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
    """The rows of the last group are missing, because it is not full. Store it like the others, with a scale of its
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


wrong("scales_in_double", changed, change=lambda codes, scales: (codes, scales.astype(np.float64)))("""
    returns the scales in float64
    The weights are float32, but your scales are float64. A NumPy array of integers, or a float64 array of zeros, in the
    computation does that. Keep the dtype of `weight`.""")


@quantise_groups.mistake("returns the restored weights")
def restored(weight, size, bits=8):
    """You return codes times scales, which are close to the weights and need as much memory as they do. Return the
    integers, as int8."""
    codes, scales = reference.quantise_groups(weight, size, bits)
    return codes * np.repeat(scales, size, axis=0)[: len(weight)], scales


wrong("codes_as_floats", changed, change=lambda codes, scales: (codes.astype(scales.dtype), scales))("""
    returns the codes as floats
    Your codes are whole numbers, but their dtype is not int8, so they need more memory than necessary.
    `.astype(np.int8)` stores each in one byte.""")
wrong("codes_in_eight_bytes", changed, change=lambda codes, scales: (codes.astype(np.int64), scales))("""
    stores each code in eight bytes
    Your codes are int64, which `.astype(int)` makes: eight bytes for each code, as many as a float64 needs.
    `.astype(np.int8)` stores each in one byte.""")
wrong("half_of_the_range", stored, largest=lambda group: (group.max(axis=0) - group.min(axis=0)) / 2)("""
    takes half of the range for the largest magnitude
    Your scale comes from largest minus smallest, divided by two. That is the largest magnitude only if both ends are
    equally far from 0; otherwise it is smaller. Take the largest magnitude.""")


@quantise_groups.mistake("has no scale below {number}", number=(1e-8, 1e-7, 1e-10, 1e-12))
def smallest_scale(weight, size, bits=8, *, number):
    """Your scales have a floor of {number}, probably to avoid a division by zero. A group of zeros then has the wrong
    scale, and very small weights may all get code 0. Make only the *divisor* 1 where the scale is 0."""
    return stored(weight, size, bits, scaled=lambda scale: np.maximum(scale, weight.dtype.type(number)))


@quantise_groups.equivalent
def group_by_group(weight, size, bits=8):
    return stored(weight, size, bits)


@quantise_groups.equivalent
def group_of_zeros_divided_by_zero(weight, size, bits=8):
    """C does not define which integer a NaN becomes. NumPy warns but stores the right code, 0, so the values are
    right."""
    return stored(weight, size, bits, divisor=lambda scale: scale)


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
