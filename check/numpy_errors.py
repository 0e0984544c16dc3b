"""What NumPy's errors mean, in our words.

NumPy's message -> what it means. A number in braces stands for a group of the pattern. In grading, a message could
carry hidden inputs, so there the text in square brackets is left out, and with it all groups.
"""

_PRODUCT = (
    "the last axis of the left array[%s] must be as long as the last but one of the right array[%s], or as its "
    "only axis"
)
_BROADCASTING = "Counted from the last axis, the lengths must be equal in pairs, or one of a pair must be 1"
INNER = (
    "`np.inner` multiplies along the last axis of both arrays, so these two must be equally long; unlike `@`, it needs "
    "no transposed array"
)
NUMPY_ERRORS = {
    r"matmul: Input operand 1 has a mismatch in its core dimension 0,.*\(size (\d+) is different from (\d+)\)": (
        _PRODUCT % (" ({1})", " ({0})")
    ),
    r"shapes (\(.*?\)) and (\(.*?\)) not aligned": _PRODUCT % (", shape {0},", ", shape {1}"),
    r"matmul: Input operand \d does not have enough dimensions": (
        "`@` needs arrays with axes, and what stands on one side of it has none: it is a single number, or it is no "
        "array at all, such as the None of a function without a `return`"
    ),
    r"operands could not be broadcast together with remapped shapes .*: "
    r"(\([\d,]*\))->\S*newaxis\) (\([\d,]*\))->.*requested shape": (
        "the arrays of a matrix product[, shapes {0} and {1},] do not fit in the axes before the last two. "
        + _BROADCASTING
    ),
    r".*einstein sum|operands could not be broadcast together with remapped shapes .*->.*->": (
        "the letters of `einsum` do not fit the arrays: each axis needs one letter, axes with the same letter must be "
        "equally long, and the result uses each of these letters at most once"
    ),
    r"shape mismatch: indexing arrays": "the index arrays have shapes that do not fit each other",
    r"could not broadcast input array from shape (\(.*?\)) into shape (\(.*?\))": (
        "the array[ of shape {0}] does not fit into the place[ of shape {1}] that should hold it"
    ),
    r"non-broadcastable output operand with shape (\(.*\)) doesn't match the broadcast shape (\(.*\))": (
        "the result[, of shape {1},] does not fit into the array[, of shape {0},] that should hold it"
    ),
    r"operands could not be broadcast together with remapped shapes .*?(\([\d,]*\)) +and requested shape (\(.*\))": (
        "the array[, of shape {0},] cannot be repeated to the requested shape[ {1}]. " + _BROADCASTING
    ),
    r"(?:operands could not be|shape mismatch: objects cannot be) broadcast[^(]* shapes (\(.*\))": (
        "the shapes[ {0}] do not fit. " + _BROADCASTING
    ),
    r"shape-mismatch for sum": "the axes along which `np.tensordot` multiplies and adds must be equally long",
    r"all the input array dimensions except for the concatenation axis must match exactly, but along dimension (\d+), "
    r".*? has size (\d+) .* has size (\d+)": (
        "the joined arrays may differ in length only along the axis that joins them[, but along axis {0} they have "
        "lengths {1} and {2}]"
    ),
    r"all the input arrays must have same number of dimensions(?:.*? has (\d+) dim.*? has (\d+) dim)?": (
        "the joined arrays must have the same number of axes[, and two have {0} and {1}]; `np.expand_dims(a, axis)` "
        "adds one"
    ),
    r"zero-dimensional arrays cannot be concatenated": "only arrays with axes can be joined, and one has none",
    r"all input arrays must have the same shape": (
        "`stack` needs arrays of the same shape, because it joins them along a new axis; `concatenate` uses an axis "
        "that they have"
    ),
    r"array split does not result in an equal division": (
        "`split` makes equal parts, and the length of the axis cannot be divided by their number"
    ),
    r"cannot select an axis to squeeze out": "`squeeze` removes only an axis of length 1, and this one is not",
    r"`indices` and `arr` must have the same number of dimensions": (
        "in `take_along_axis`, both arrays need the same number of axes; `np.expand_dims(indices, -1)` adds one at the "
        "end"
    ),
    r"`indices` must be an integer array|arrays used as indices must be of integer": (
        "an array of indices must hold whole numbers, and this one holds others"
    ),
    r"cannot reshape array of size (\d+) into shape (\(.*\))": (
        "the array[, with {0} entries,] cannot fill the new shape[ {1}]: the product of its lengths must be the "
        "number of entries"
    ),
    r"can only specify one unknown dimension": "only one length of a new shape may be -1",
    r"axes don't match array": "`transpose` needs every axis once, and got more or fewer axes than the array has",
    r"repeated axis in transpose": "`transpose` needs every axis once, and got an axis twice",
    r"(?:\w+: )?axis (-?\d+) is out of bounds for array of dimension (\d+)": (
        "the array has no axis with this number[: {0}, but it has {1} in all]; axes are counted from 0"
    ),
    r"index (-?\d+) is out of bounds for (?:axis \d+ with )?size (\d+)": (
        "an index[, {0},] lies outside its axis[, which has length {1}]; the first entry has index 0"
    ),
    r"too many indices for array: array is (\d+)-dimensional, but (\d+) were indexed": (
        "there are more indices[, {1},] than axes[, {0}]"
    ),
    r"boolean index did not match indexed array along (?:axis|dimension) (\d+); .*? is (\d+) but .* is (\d+)": (
        "a mask in square brackets must be as long as the array along each of its axes[, but along axis {0} the array "
        "has length {1} and the mask {2}]"
    ),
    r"setting an array element with a sequence\. The requested": (
        "the parts of a NumPy array must have the same shape, and here they differ"
    ),
    r"setting an array element with a sequence": "an entry of an array holds one number, but here it got several",
    r"only integers, slices \(`:`\)": (
        "an array is indexed with whole numbers, slices, or arrays of whole numbers or booleans; `/` makes a float, "
        "and `//` a whole number"
    ),
    r"only integer scalar arrays can be converted to a scalar index": (
        "an array stands where a whole number is expected, such as an axis: `np.concatenate` takes its arrays in one "
        "list, and `np.maximum`, not `np.max`, compares two arrays"
    ),
    r"only (?:0-dimensional|length-1|size-1) arrays can be converted|can only convert an array of size 1": (
        "a single number is expected here, and this is an array: `math`, `int` and `float` work with a single number, "
        "and NumPy's functions, such as `np.sqrt`, with arrays"
    ),
    r"Cannot interpret '\(?\d+[^']*' as a data type": (
        "a number stands where NumPy expects a dtype: a shape, or several axes, are one tuple, as in `np.zeros((3, 4))`"
    ),
    r"Type must be a sub-type of ndarray type|view\(\) takes": (
        "NumPy's `view` changes the dtype of an array, not its shape: use `reshape`"
    ),
    r"ufunc '(\w+)' not supported for the input types": (
        "a function or an operator of NumPy[, `np.{0}`,] does not work with the dtypes of its arguments; `&`, `|` and "
        "`~` need booleans or whole numbers"
    ),
    r"loop of ufunc does not support argument \d+ of type (\S+) which has no callable (\w+) method": (
        "a function of NumPy[, `np.{1}`,] needs numbers or arrays of numbers[, and this is {0}]"
    ),
    r"The truth value of an array with more than one element": (
        "an array with several entries is neither True nor False"
    ),
    r"Input must be 1- or 2-d": "`np.diag` takes arrays with one or two axes, and this one has another number",
}
