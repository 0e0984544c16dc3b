"""What NumPy calls the functions that students know from PyTorch."""

import re

import numpy as np

# A method or function of PyTorch that NumPy does not have -> what to write.
TORCH_NAMES = {
    "unsqueeze": "`x[..., None]` or `np.expand_dims(x, axis)`",
    "permute": "`np.transpose(x, axes)`, or `np.swapaxes(x, -1, -2)` for two axes",
    "masked_fill": "`np.where(mask, x, value)`",
    "gather": "`np.take_along_axis(x, indices, axis)`",
    "cat": "`np.concatenate([a, b], axis=...)`",
    "contiguous": "nothing: leave it out",
    "numel": "`x.size`",
    "dim": "`x.ndim`",
    "expand": "`np.broadcast_to(x, shape)`",
    "clone": "`x.copy()`",
    "detach": "nothing: leave it out",
    "clamp": "`np.clip(x, low, high)`",
    "float": "`x.astype(float)`",
    "long": "`x.astype(int)`",
    "pow": "`x ** n`",
    "matmul": "`x @ y`",
    "bmm": "`x @ y`",
    "softmax": "your own `softmax`: NumPy has none",
    "log_softmax": "your own function: NumPy has none",
    "relu": "`np.maximum(x, 0)`",
    "tensor": "`np.array(...)`",
    "backward": "a backward pass of your own: NumPy computes no gradients",
    "norm": "`np.linalg.norm(x)`",
    "exp": "`np.exp(x)`",
    "sqrt": "`np.sqrt(x)`",
    "log": "`np.log(x)`",
}
_KEYWORDS = ("dim", "keepdim")
_ATTRIBUTE = re.compile(r"(?:'numpy\.ndarray' object|module 'numpy') has no attribute '(\w+)'")
_KEYWORD = re.compile(r"(?:_a(?=max|min)|_)?(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_TWO_AXES = re.compile(r"\btranspose\((?:[A-Za-z_]\w*, *)?(-?\d+), *(-?\d+)\)")
_SHAPES = re.compile(r"axis -?\d+ is out of bounds|axes don't match|repeated axis|^matmul: |transpose\(\) takes")


def in_numpy(message: str, line: str) -> str:
    """Translate a PyTorch word in a line that raised to NumPy, with a space in front; "" if there is none."""
    if (attribute := _ATTRIBUTE.match(message)) and attribute[1] in TORCH_NAMES:
        return f" In NumPy, write {TORCH_NAMES[attribute[1]]}."
    if (keyword := _KEYWORD.match(message)) and keyword[2] in _KEYWORDS and hasattr(np, keyword[1]):
        return " NumPy's names for PyTorch's `dim` and `keepdim` are `axis` and `keepdims`."
    if "'int' object is not callable" in message and ".size(" in line:
        return " In NumPy, `x.size` is the number of entries, and `x.shape[-1]` the length of the last axis."
    if "'tuple' object is not callable" in message and ".shape(" in line:
        return " `x.shape` is a tuple: square brackets choose an entry, as in `x.shape[-1]`."
    if message == "name 'torch' is not defined":
        return " `torch` is PyTorch. Write this with NumPy, `np`."
    if (two := _TWO_AXES.search(line)) and _SHAPES.search(message):
        return (
            f" `transpose({two[1]}, {two[2]})` exchanges two axes only in PyTorch. NumPy's `transpose` takes all axes "
            "in their new order, and `np.swapaxes(x, -1, -2)` exchanges the last two, with and without a batch."
        )
    return ""
