"""The file in which trained weights are handed in: an .npz file without pickle and without compression.

It holds `weights`, all numbers of the model as one vector of float16, and `recipe`, JSON as bytes. `unpack` trusts
nothing in a file: it compares every size with the expected one before it makes an array.
"""

import io
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from check.bundle_data import data_folder

MAX_BYTES = 500_000
MAX_RECIPE = 2_000  # bytes of JSON
WEIGHTS = "weights"
# What NumPy writes before an array's numbers. It is read as a text, because NumPy's own reader evaluates it.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([^']{1,9})', 'fortran_order': False, 'shape': \((\d{1,18},)\), \} *\n",
    re.DOTALL,
)


class UnusableWeights(ValueError):
    """Weights or a recipe cannot be handed in or read. The message tells the student why."""


class TakenSeed(UnusableWeights):
    """A recipe has the seed of the book's own model."""


@dataclass(frozen=True)
class Expected:
    """What handed-in weights must be.

    layout: path of each array ("encoder.0.attention.w_query") -> its shape, in the order of the vector.
    recipe: name of each number of a recipe -> (smallest, largest, whether it is a whole number).
    taken_seed: the seed of the book's own model.
    """

    layout: dict[str, tuple[int, ...]]
    recipe: dict[str, tuple[float, float, bool]]
    taken_seed: int

    @property
    def n_numbers(self) -> int:
        return sum(map(math.prod, self.layout.values()))

    def to_json(self) -> str:
        """Return this as JSON text, which `from_json` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields = json.loads(text)
        layout = {path: tuple(shape) for path, shape in fields["layout"].items()}
        recipe = {name: tuple(limits) for name, limits in fields["recipe"].items()}
        return cls(layout, recipe, fields["taken_seed"])


def expected_here(params: Any) -> Expected:
    """Return what the chapters that were unzipped here expect. Raises LookupError if none expects weights.

    Two chapters ask for weights. If both were unzipped into this folder, the names of the arrays distinguish them.
    """
    keys = data_folder() / "keys"
    chapters = [Expected.from_json(file.read_text(encoding="utf-8")) for file in sorted(keys.glob(f"*{WEIGHTS}.json"))]
    if not chapters:
        raise LookupError(
            f"nothing in {keys} says which weights to hand in: use `hand_in` in the folder of an unzipped "
            "chapter that asks for it"
        )
    names = {path for path, _ in _named(params)}
    return max(chapters, key=lambda expected: len(names & expected.layout.keys()))


def pack(params: Any, recipe: Any, expected: Expected) -> bytes:
    """Return the bytes of the file that holds these weights.

    Args:
        params: nested dicts and lists of arrays.
        recipe: name -> number, for each name in `expected.recipe`.

    Raises UnusableWeights.
    """
    arrays = dict(_named(params))
    for path, shape in expected.layout.items():
        if path not in arrays:
            raise UnusableWeights(f"`params` lacks `{path}`: hand in the parameters of the chapter's model.")
        if (found := np.shape(arrays[path])) != shape:
            raise UnusableWeights(f"`{path}` has the shape {found}, but the chapter's model has {shape} there.")
        _refuse_unusable_numbers(path, np.asarray(arrays[path]))
    if unknown := sorted(arrays.keys() - expected.layout.keys()):
        raise UnusableWeights(f"`params` has an array that the chapter's model does not have: `{unknown[0]}`.")
    vector = np.concatenate([arrays[path] for path in expected.layout], axis=None).astype("<f2")
    text = json.dumps(checked_recipe(recipe, expected)).encode()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, weights=vector, recipe=np.frombuffer(text, np.uint8))
    return buffer.getvalue()


def unpack(raw: bytes, expected: Expected) -> tuple[np.ndarray, dict[str, float]]:
    """Return the vector (n_numbers,), float16, and the recipe in a file of weights. Raises UnusableWeights."""
    if len(raw) > MAX_BYTES:
        raise UnusableWeights(f"The file of weights has {len(raw):,} bytes, and at most {MAX_BYTES:,} are allowed.")
    members = _members(raw)
    if members.keys() != {"weights.npy", "recipe.npy"}:
        raise UnusableWeights("The file of weights should hold `weights` and `recipe` and nothing else.")
    vector = _vector(members["weights.npy"], "<f2", expected.n_numbers, WEIGHTS)
    if not np.isfinite(vector).all():
        raise UnusableWeights("The weights contain NaN or infinity.")
    text = _vector(members["recipe.npy"], "|u1", None, "recipe").tobytes()
    try:
        recipe = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnusableWeights("The recipe in the file of weights is not JSON.") from error
    return vector, checked_recipe(recipe, expected)


def checked_recipe(recipe: Any, expected: Expected) -> dict[str, float]:
    """Return a recipe as plain numbers, in the order of the expected names. Raises UnusableWeights."""
    if not isinstance(recipe, Mapping) or set(recipe) != set(expected.recipe):
        raise UnusableWeights(f"A recipe is a dict with exactly these keys: {', '.join(expected.recipe)}.")
    numbers = {name: _number(name, recipe[name], *limits) for name, limits in expected.recipe.items()}
    if numbers["seed"] == expected.taken_seed:
        raise TakenSeed(
            f"The seed {expected.taken_seed} is the book's: choose a seed of your own in the recipe, and train with it."
        )
    return numbers


def _number(name: str, value: Any, low: float, high: float, whole: bool) -> float:
    value = value.item() if isinstance(value, np.generic) else value
    fits = type(value) in (int, float) and low <= value <= high and (not whole or value == int(value))
    if not fits:
        kind = "a whole number" if whole else "a number"
        raise UnusableWeights(f"`{name}` of a recipe should be {kind} from {low:g} to {high:g}.")
    return int(value) if whole else float(value)


def _named(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each leaf of a tree of dicts and lists."""
    if isinstance(tree, dict | list):
        for name, branch in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _named(branch, f"{path}.{name}" if path else str(name))
    else:
        yield path, tree


def _refuse_unusable_numbers(path: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "fiu":
        raise UnusableWeights(f"`{path}` should be an array of real numbers, and it is one of {array.dtype}.")
    if not np.isfinite(array).all():
        raise UnusableWeights(f"`{path}` contains NaN or infinity. Did the training diverge?")
    if np.abs(array).max(initial=0) >= 65_520:  # float16 rounds it to infinity
        raise UnusableWeights(f"`{path}` contains a number beyond 65,504, which float16 cannot hold.")


def _members(raw: bytes) -> dict[str, bytes]:
    """Name -> content of an uncompressed zip file. Raises UnusableWeights."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(raw) for entry in entries[:3]):
                raise UnusableWeights("The file of weights is compressed or declares more bytes than it has.")
            return {entry.filename: archive.read(entry) for entry in entries[:3]}
    except UnusableWeights:
        raise
    except Exception as error:  # malformed zip files make zipfile raise exceptions of many kinds
        raise UnusableWeights("The file of weights is damaged or not an .npz file.") from error


def _vector(content: bytes, dtype: str, length: int | None, name: str) -> np.ndarray:
    """The vector in an .npy file, as a view of its bytes. length: None for at most MAX_RECIPE."""
    header = _HEADER.match(content)
    found, shape = (header[1].decode("latin-1"), header[2].decode()) if header else ("", "")
    if found.startswith("|O"):
        raise UnusableWeights(f"`{name}` holds Python objects, which only pickle could read: hand in plain numbers.")
    numbers = content[header.end() :] if header else b""
    n_bytes = len(numbers) if length is None else length * np.dtype(dtype).itemsize
    sizes = [int(size) for size in shape.split(",") if size.strip()]
    if found != dtype or sizes != [n_bytes // np.dtype(dtype).itemsize] or len(numbers) != n_bytes:
        wanted = f"{length:,} float16 numbers" if length else "bytes of JSON"
        raise UnusableWeights(f"`{name}` in the file should be a vector of {wanted}, and it is not.")
    if length is None and n_bytes > MAX_RECIPE:
        raise UnusableWeights(f"The recipe has {n_bytes:,} bytes, and at most {MAX_RECIPE:,} are allowed.")
    return np.frombuffer(numbers, dtype)
