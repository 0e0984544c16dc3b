"""What Python's errors about values of a wrong kind mean, in our words, in a table like that of NumPy's errors."""

# Python's name of a type -> what a sentence calls a value of it.
KINDS = {
    "NoneType": "None",
    **dict.fromkeys(("float", "int", "numpy.float64", "numpy.float32", "numpy.int64"), "a single number"),
    "bool": "True or False",
    "tuple": "a tuple",
    "list": "a list",
    "dict": "a dict",
    "str": "a text",
    "numpy.ndarray": "an array",
    "function": "a function",
    **dict.fromkeys(("builtin_function_or_method", "method"), "a method"),
    "numpy.ufunc": "a function of NumPy",
    "module": "a module",
    "<lambda>": "lambda",
    "generator": "a generator",
    "no": "none",
}
# A function's name in a message, without the function in which it is defined, and without the "_" of NumPy's methods.
_NAME = r"(?:\S+<locals>\.)?(?:_a(?=max|min)|_(?=sum|prod|mean|std|var|any|all))?([\w.]+|<lambda>)"
PYTHON_ERRORS = {
    r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)": (
        "there are fewer values[, {1},] than names for them[, {0}]"
    ),
    r"too many values to unpack \(expected (\d+)": "there are more values than names for them[, which are {0}]",
    r"cannot unpack non-iterable (\S+) object|'(\S+)' object is not iterable": (
        "several values are expected here, and this is only one thing[, {0}{1}]"
    ),
    r"iteration over a 0-d array": "several values are expected here, and this is a single number",
    r"'(\S+)' object is not subscriptable|invalid index to scalar variable()": (
        "square brackets choose entries, and this has none[: it is {0}]"
    ),
    r"'(\S+)' object does not support item assignment": "no entry can be changed here[: this is {0}]",
    r"object of type '(\S+)' has no len\(\)": "`len` counts entries, and this has none[: it is {0}]",
    r"len\(\) of unsized object": "`len` counts entries, and this is an array without axes",
    r"'(\S+)' object is not callable": "parentheses after a value call it, and this cannot be called[: it is {0}]",
    r"'float' object cannot be interpreted as an integer": "a whole number is expected here, and this is a float",
    r"'(\S+)' object cannot be interpreted as an integer": "a whole number is expected here[, and this is {0}]",
    r"list indices must be integers or slices, not (\S+)": (
        "a list is indexed with a whole number or a slice[, and this is {0}]"
    ),
    r"tuple indices must be integers or slices, not (\S+)": (
        "a tuple is indexed with a whole number or a slice[, and this is {0}]"
    ),
    r"(list|tuple) index out of range": "an index lies outside a list or a tuple; the first item has index 0",
    r"unsupported operand type\(s\) for (\S+?)(?: or pow\(\))?: '(\S+)' and '(\S+)'": (
        "an operator[, `{0}`,] does not work with what stands beside it[: {1} and {2}]"
    ),
    r"bad operand type for unary (\S+): '(\S+)'": (
        "an operator[, `{0}`,] does not work with what stands beside it[: {1}]"
    ),
    r"'(\S+)' not supported between instances of '(\S+)' and '(\S+)'": (
        "a comparison[, `{0}`,] does not work with these two[: {1} and {2}]"
    ),
    r"can't multiply sequence by non-int of type '(\S+)'": (
        "an operator[, `*`,] does not work with a tuple or a list[ and {0}]"
    ),
    r"module '(\S+)' has no attribute '(\w+)'(.*)": "the module has no such function[ as `{0}.{1}`{2}]",
    r"'(\S+)' object has no attribute '(\w+)'(.*)": "there is no such attribute[: {0} has no `{1}`{2}]",
    rf"{_NAME}\(\) got an unexpected keyword argument '(\w+)'": (
        "an argument has a name that the function does not know[: `{0}` has no parameter `{1}`]"
    ),
    r"got an unexpected keyword argument '(\w+)'": "an argument has a name that the function does not know[: `{0}`]",
    rf"{_NAME}\(\) got multiple values for argument '(\w+)'": (
        "an argument is passed twice, by position and by name[: `{1}` of `{0}`]"
    ),
    r"multiple values for argument '(\w+)'": ("an argument is passed twice, by position and by name[: `{0}`]"),
    rf"{_NAME}\(\) got some positional-only arguments passed as keyword arguments: '(\w+)": (
        "an argument is passed by name, but the function takes it by position only[: `{1}` of `{0}`]"
    ),
    rf"{_NAME}\(\) missing (?:\d+ )?required (?:positional |keyword-only )?arguments?:? ('.*')": (
        "a call passes too few arguments[: `{0}` needs {1}]"
    ),
    r"missing a required (?:\S+ )?argument: ('\w+')": "a call passes too few arguments[: the function needs {0}]",
    # Python counts `self` too, but not in every class.
    r"(?:\S+<locals>\.)?(\w+\.\w+)\(\) takes .* positional arguments? but": (
        "a call of a method has too many or too few arguments[: `{0}`]"
    ),
    rf"{_NAME}\(\) takes "
    r"((?:from \d+ to |exactly |at \w+ )?\w+) (?:positional )?arguments?\D+(\d+)": (
        "a call has too many or too few arguments[: `{0}` takes {1} by position and gets {2}]"
    ),
    r"too many positional arguments": "a call has more arguments than the function takes",
}
