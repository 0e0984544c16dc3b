"""Make fingerprints of the mistakes that an exercise inherits, for its answer key."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.inherited import Inherited, inherited_mistakes, merged
from autograder.authoring.sketching import warnings_lock
from check.calling import Outcome, value_of
from check.fingerprints import equal_rows, fingerprint, fingerprints, has_fingerprint, is_telling
from check.key import Case, Key, Mistake


def fingerprints_of_inherited(
    exercise: Exercise, key: Key, answer: Sequence[Outcome] | None = None
) -> dict[str, tuple[Mistake, np.ndarray]]:
    """Return the fingerprints of the mistakes that an exercise inherits, in the form of `Key.inherited`.

    A mistake is left out if it changes nothing or has the values of one of the exercise's own mistakes.

    answer: the outcomes of an answer, one for each case. If given, the result may lack mistakes that the answer does
    not make.
    """
    inherited = inherited_mistakes(exercise)
    if not inherited:
        return {}
    row_of = _Rows(key, answer)
    if row_of.nothing_matches:
        return {}
    own = (row_of(partial(_known_outcome, slug)) for slug in key.mistakes)
    right = fingerprints(key, [case.expected for case in key.cases])
    known = [right, *(row for row in own if row is not None)]
    groups: list[tuple[np.ndarray, list[Inherited]]] = []
    with warnings_lock, warnings.catch_warnings(action="ignore"):
        for mistake in inherited:
            row = row_of(partial(_value, mistake.function))
            if row is None or any(equal_rows(other, row) for other in known):
                continue
            group = next((group for other, group in groups if equal_rows(other, row)), None)
            if group is None:
                groups.append((row, [mistake]))
            else:
                group.append(mistake)
    made: dict[str, tuple[Mistake, list[np.ndarray]]] = {}
    for row, group in groups:
        if named := merged(group):
            slug, text = named
            made.setdefault(slug, (text, []))[1].append(row)
    return {slug: (text, np.stack(rows)) for slug, (text, rows) in made.items()}


def _known_outcome(slug: str, case: Case) -> Outcome:
    return case.mistakes[slug]


def _value(function: Callable, case: Case) -> Outcome:
    return value_of(function, case.inputs)


class _Rows:
    """Makes rows of fingerprints. One case is enough to rule out most functions.

    nothing_matches: whether no mistake can match the answer.
    """

    def __init__(self, key: Key, answer: Sequence[Outcome] | None) -> None:
        self._key = key
        telling = [i for i, case in enumerate(key.cases) if answer and is_telling(key, case, answer[i])]
        self._telling = min(telling, key=lambda i: key.cases[i].size, default=None)
        self.nothing_matches = bool(answer) and self._telling is None
        if answer and self._telling is not None:
            self._wanted = fingerprint(key, key.cases[self._telling], answer[self._telling])

    def __call__(self, outcome_on: Callable[[Case], Outcome]) -> np.ndarray | None:
        """The row of a function; None if it is surely not the answer's, or too little wrong to be recognised.

        outcome_on: returns the function's outcome on a case.
        """
        cases = self._key.cases
        if self._telling is not None:
            case = cases[self._telling]
            if not np.isclose(fingerprint(self._key, case, outcome_on(case)), self._wanted, 1e-6, 1e-6):
                return None
        outcomes = [outcome_on(case) if has_fingerprint(self._key, case) else Outcome() for case in cases]
        if not any(map(is_telling, repeat(self._key), cases, outcomes)):
            return None
        return fingerprints(self._key, outcomes)
