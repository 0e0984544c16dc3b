"""An answer key: the inputs, the expected values and the known mistakes' outcomes of one exercise.

A key holds numbers and words, never code, so public keys can ship to students. The secret keys for grading, one for
each submission, have the same form but different numbers.
"""

import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from check.calling import Outcome, Raised
from check.comparing import allowed_error
from check.values import pack, unpack

UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Mistake:
    """A known mistake.

    name: a few words. message: what the student probably thought, and why that is wrong. reread: title of the section
    that explains it; empty only in keys and reports of earlier versions.
    """

    name: str
    message: str
    reread: str = ""


@dataclass(frozen=True)
class Case:
    """One call of the exercise's function.

    inputs: argument name -> value. expected: the reference's outcome. mistakes: slug -> the mistake's outcome on the
    same inputs. Both hold an exception's `mark` instead of its message.
    unseen: name -> value of each argument that the key's measure gets but the function does not.
    """

    name: str
    aspect: str
    inputs: dict
    expected: Outcome
    mistakes: Mapping[str, Outcome]
    unseen: dict = field(default_factory=dict)

    @cached_property
    def size(self) -> int:
        """Number of entries in all input arrays; smaller failing cases are easier to read."""
        return sum(array.size for array in pack([self.inputs, self.unseen])[1])

    @cached_property
    def rounding(self) -> float:
        """The allowed error of the coarsest expected array, as a share of its largest entry; 0 if all are float64."""
        return allowed_error(*pack(self.expected.value)[1], tolerance=0.0)


@dataclass(frozen=True)
class Key:
    """What the judge knows about one exercise.

    function: its name. section: title of the section to read again.
    outputs: name -> axes ("... T_query d_value"), or UNJUDGED for a cache; in the order that the function returns them.
    order: the same names in the order of the derivation; the first wrong one is reported.
    aspects: name -> points. tests: the exercise whose functions this one tests, if it asks for a test; otherwise "".
    tolerance: allowed error in float64, as a share of the largest expected entry.
    inherited: slug -> a mistake of an exercise that this one calls, and the fingerprints (rows, cases) of the functions
        that have it; see `check.fingerprints`.
    slips: description of a slip -> sketches (rows, cases) of the outcomes of right functions with that one slip.
    measure: name of the measure of `check.measures` that is applied to outcomes before they are compared, or
        `check.predictions.ORDER`; "" for none.
    """

    function: str
    section: str
    outputs: dict[str, str]
    order: tuple[str, ...]
    aspects: dict[str, float]
    tolerance: float
    mistakes: dict[str, Mistake]
    cases: tuple[Case, ...]
    inherited: Mapping[str, tuple[Mistake, np.ndarray]] = field(default_factory=dict)
    slips: Mapping[str, np.ndarray] = field(default_factory=dict)
    measure: str = ""
    tests: str = ""

    def mistake(self, slug: str) -> Mistake:
        """Return a known mistake of the exercise, or an inherited one."""
        return self.mistakes[slug] if slug in self.mistakes else self.inherited[slug][0]

    @property
    def points(self) -> float:
        return sum(self.aspects.values())

    @property
    def digest(self) -> str:
        """SHA-256 of the whole key in hex; keys with the same digest grade alike."""
        return hashlib.sha256(to_bytes(self)).hexdigest()


def save(key: Key, path: str | Path) -> None:
    """Write a key to a .npz file; equal keys give equal bytes."""
    Path(path).write_bytes(to_bytes(key))


def load(path: str | Path) -> Key:
    """Return the key that `save` wrote to a file."""
    return from_bytes(Path(path).read_bytes())


def from_bytes(content: bytes) -> Key:
    """Return the key that `to_bytes` made this file's content from."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        tree, places = json.loads(stored["index"].tobytes())
        numbers = {name: stored[name] for name in stored.files if name != "index"}
    arrays = [numbers[dtype][start : start + math.prod(shape)].reshape(shape) for dtype, shape, start in places]
    fields = unpack(tree, arrays)
    return Key(
        **fields
        | {
            "order": tuple(fields["order"]),
            "mistakes": {slug: Mistake(*mistake) for slug, mistake in fields["mistakes"].items()},
            "inherited": {
                slug: (Mistake(*mistake), rows) for slug, (mistake, rows) in fields.get("inherited", {}).items()
            },
            "cases": tuple(_case(case) for case in fields["cases"]),
        }
    )


def to_bytes(key: Key) -> bytes:
    """Return the content of a key's .npz file."""
    fields = vars(key) | {
        "mistakes": {slug: astuple(mistake) for slug, mistake in key.mistakes.items()},
        "cases": [_case_fields(case) for case in key.cases],
    }
    fields["inherited"] = {slug: (astuple(mistake), rows) for slug, (mistake, rows) in key.inherited.items()}
    for name in ("measure", "inherited"):
        if not fields[name]:  # leaving it out keeps the digests of earlier versions
            del fields[name]
    tree, arrays = pack(fields)
    places, numbers = _laid_out(arrays)
    buffer = io.BytesIO()
    index = np.frombuffer(json.dumps((tree, places)).encode(), np.uint8)
    np.savez_compressed(buffer, allow_pickle=False, index=index, **numbers)
    return buffer.getvalue()


def _laid_out(arrays: list[np.ndarray]) -> tuple[list[tuple], dict[str, np.ndarray]]:
    """(dtype, shape, start) of each array, and for each dtype one flat array that holds equal arrays once.

    Most outputs of a mistake are right, so arrays repeat. With a file for each small array, half of it would be header.
    """
    places: list[tuple] = []
    starts: dict[tuple, int] = {}
    rows: dict[str, list[np.ndarray]] = {}
    lengths: Counter[str] = Counter()
    for array in arrays:
        dtype, content = array.dtype.name, array.tobytes()
        if (dtype, content) not in starts:
            starts[dtype, content] = lengths[dtype]
            rows.setdefault(dtype, []).append(array.ravel())
            lengths[dtype] += array.size
        places.append((dtype, array.shape, starts[dtype, content]))
    return places, {dtype: np.concatenate(parts) for dtype, parts in rows.items()}


def _case_fields(case: Case) -> tuple:
    outcomes = {slug: _outcome_fields(outcome) for slug, outcome in case.mistakes.items()}
    unseen = (case.unseen,) if case.unseen else ()
    return (case.name, case.aspect, case.inputs, _outcome_fields(case.expected), outcomes, *unseen)


def _case(fields: tuple) -> Case:
    name, aspect, inputs, expected, mistakes, *unseen = fields
    return Case(name, aspect, inputs, _outcome(expected), {slug: _outcome(f) for slug, f in mistakes.items()}, *unseen)


def _outcome_fields(outcome: Outcome) -> tuple:
    return (outcome.value, (outcome.raised.type, outcome.raised.message) if outcome.raised else None, outcome.modified)


def _outcome(fields: tuple) -> Outcome:
    value, raised, modified = fields
    return Outcome(value, Raised(*raised) if raised else None, modified)
