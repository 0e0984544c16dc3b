"""Match an exercise's outcomes with known mistakes.

A mistake is recognised by its values. A different dtype or an input changed in place is a fault of form, which neither
hides the mistake nor proves it; a case that raises shows no values at all.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from check.calling import Outcome, Raised
from check.faults import FORM_KINDS, CaseFaults, Verdict, faults
from check.key import Case, Key
from check.sketches import is_distinctive

MAX_MISTAKES = 2  # with more of them, almost any outcome could be explained
NEAR, CLEAR = 1e-6, 1e-3  # errors as shares of the largest entry; see `best_matches`
VALUELESS_KINDS = ("stopped", "blank", "raised")  # such a fault hides what the values would have been


@dataclass(frozen=True)
class Match:
    """How well a known mistake matches the outcomes; cases are given by their indices.

    cases: those with the mistake's values. alike: `cases`, and those that raise the mistake's type of exception. proof:
    those of `cases` in which the mistake is wrong. wrong: all cases in which the mistake is wrong. form_faults: how
    many faults of form `cases` have that the mistake does not. tolerance: how much the values may differ from the
    mistake's, as a share of the largest entry.
    """

    slug: str
    cases: frozenset[int]
    alike: frozenset[int]
    proof: frozenset[int]
    wrong: frozenset[int]
    form_faults: int
    tolerance: float


def same(key: Key, case: Case, known: Outcome, outcome: Outcome) -> bool:
    """Whether two outcomes of a case agree, up to the rounding of the case's own dtype."""
    return not any(_differences(key, case, known, outcome)) and set(known.modified) == set(outcome.modified)


def _differences(key: Key, case: Case, known: Outcome, outcome: Outcome) -> Iterator[Verdict]:
    """Yield how an outcome differs from a known one.

    A mistake may promote float32 to float64 without making its digits any better, so the coarsest dtype's tolerance
    applies. Many mistakes raise the same type of exception, so an exception matches only with the same message.
    """
    if outcome.raised and not (known.raised and _may_be_the_same(case, known.raised, outcome.raised)):
        yield Verdict(False, "raised", "")  # without the sentence that `faults` would make
        return
    coarsest = max(key.tolerance, case.rounding)
    yield from faults(replace(key, tolerance=coarsest) if coarsest > key.tolerance else key, known, outcome)


def _may_be_the_same(case: Case, known: Raised, raised: Raised) -> bool:
    return bool(case.expected.raised) or known.message == raised.mark


def is_exactly(key: Key, slug: str, outcomes: Sequence[Outcome]) -> bool:
    """Whether the outcomes of all cases are those of a known mistake."""
    pairs = sorted(zip(key.cases, outcomes, strict=True), key=lambda pair: pair[0].size)  # most mistakes differ at once
    return all(same(key, case, case.mistakes[slug], outcome) for case, outcome in pairs)


def best_matches(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults, raises_by_axes: bool) -> list[Match]:
    """Return the fewest mistakes that explain the cases with wrong values; or none.

    raises_by_axes: whether the number of an input's axes decides where the answer raises an exception.

    If some wrong entries of the mistakes are unlikely to come from another function, the mistakes must explain at least
    half of the cases with values, and have the same outcome, or the same type of exception, as a quarter of all wrong
    cases; if `raises_by_axes`, they may explain all cases with values instead. Otherwise they must explain all cases
    with values, and these must be half of the wrong ones. Two mistakes do not count as an explanation if one of them
    shows only in booleans, tokens or one simple number, because many answers have these, or if they contradict each
    other.

    If no mistake has exactly these values, a mistake with nearly the same values is enough if it is clearly wrong: the
    function probably adds a small constant as well, as people do before a division.
    """
    if not _may_explain(key, outcomes, case_faults):
        return []
    exact = _fewest(
        key, case_faults, [_match(key, slug, outcomes, case_faults) for slug in key.mistakes], raises_by_axes
    )
    if exact or not any(fault.kind == "value" for found in case_faults for fault in found):
        return exact
    near = [_match(key, slug, outcomes, case_faults, NEAR, CLEAR) for slug in key.mistakes]
    return _fewest(key, case_faults, near, raises_by_axes)


def _may_explain(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> bool:
    """Whether some mistake has nearly the values of a quarter of the cases that mistakes must explain.

    If none has, MAX_MISTAKES mistakes together cannot explain half of these cases. If no case has values, exceptions
    tell so little that one mistake must explain all. The smallest cases come first, so that most answers without a
    known mistake never reach the largest cases, and code that always raises stops at the smallest.
    """
    near = replace(key, tolerance=max(key.tolerance, NEAR))
    indices = sorted(_with_values(case_faults), key=lambda i: key.cases[i].size)
    have_values = any(case_faults[i][0].kind not in VALUELESS_KINDS for i in indices)
    least = -(-len(indices) // (2 * MAX_MISTAKES)) if have_values else len(indices)

    def has_nearly_least(slug: str) -> bool:
        n_equal = 0
        for n_left, i in zip(range(len(indices), 0, -1), indices, strict=True):
            if n_equal + n_left < least:
                return False
            case = key.cases[i]
            n_equal += not has_wrong_values(_differences(near, case, case.mistakes[slug], outcomes[i]))
            if n_equal == least:
                return True
        return False

    return any(map(has_nearly_least, key.mistakes))


def _wrong(case_faults: CaseFaults) -> set[int]:
    """The indices of the cases that have more than faults of form."""
    return {i for i, verdicts in enumerate(case_faults) if has_wrong_values(verdicts)}


def _with_values(case_faults: CaseFaults) -> set[int]:
    """The indices of the cases that mistakes must explain: the wrong ones that have values, if there are any.

    Many mistakes raise the same exception, so exceptions are proof only where no case has values.
    """
    wrong = _wrong(case_faults)
    return {i for i in wrong if case_faults[i][0].kind not in VALUELESS_KINDS} or wrong


def _fewest(key: Key, case_faults: CaseFaults, matches: Iterable[Match | None], raises_by_axes: bool) -> list[Match]:
    """The fewest of these matches that explain the cases with wrong values, if any do."""
    candidates = [match for match in matches if match]
    wrong, with_values = _wrong(case_faults), _with_values(case_faults)
    chosen: list[Match] = []
    while candidates and len(chosen) < MAX_MISTAKES:
        open_cases = with_values.difference(*(match.proof for match in chosen))
        candidates.sort(key=lambda match: (-len(match.proof & open_cases), match.form_faults, -len(match.proof)))
        best, *others = candidates
        tied = any(other.proof == best.proof and other.form_faults == best.form_faults for other in others)
        is_rare = any(_is_rare(key.cases[i], best.slug) for i in best.proof & with_values)
        if tied or not best.proof & open_cases or (chosen and not is_rare):
            break
        chosen.append(best)
        candidates = others if is_rare else []
    if len(chosen) > 1 and not _may_be_together(chosen[0], chosen[1], with_values):
        chosen.pop()
    explained = frozenset().union(*(match.proof for match in chosen)) & with_values
    telling = any(_is_telling(key.cases[i], match.slug) for match in chosen for i in match.proof & with_values)
    if telling:
        agreeing = frozenset().union(*(match.alike for match in chosen)) & wrong
        are_enough = 2 * len(explained) >= len(with_values) and 4 * len(agreeing) >= len(wrong)
        return chosen if are_enough or (raises_by_axes and explained == with_values) else []
    return chosen if explained == with_values and 2 * len(explained) >= len(wrong) else []


def _may_be_together(one: Match, other: Match, with_values: set[int]) -> bool:
    """Whether one function may make both mistakes.

    Each mistake would also show in the cases that prove the other, unless the function has a branch for each. With
    branches, the two must explain all cases with values, and the second alone a quarter of them.
    """
    if one.proof & other.wrong <= other.cases and other.proof & one.wrong <= one.cases:
        return True
    return with_values <= one.proof | other.proof and 4 * len(other.proof - one.proof) >= len(with_values)


def _is_telling(case: Case, slug: str) -> bool:
    """Whether the entries on which a mistake is wrong are unlikely to come from another function.

    Many functions return booleans, whole numbers, zeros and NaN.
    """
    return is_distinctive(_wrong_entries(case, slug))


def _is_rare(case: Case, slug: str) -> bool:
    """Whether a mistake is wrong on several float entries, or on one that is distinctive, NaN or infinite."""
    entries = _wrong_entries(case, slug)
    return entries.size > 1 or is_distinctive(entries) or not np.isfinite(entries).all()


def _wrong_entries(case: Case, slug: str) -> np.ndarray:
    """The float entries on which a mistake is wrong, as a flat array."""
    known, right = (_float_entries(outcome.value) for outcome in (case.mistakes[slug], case.expected))
    return known[known != right] if known.shape == right.shape else known


def _float_entries(value: object) -> np.ndarray:
    """All float entries of a value, as a flat array."""
    if isinstance(value, float):
        return np.array([value])
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.ravel().astype(np.float64)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return np.concatenate([np.zeros(0), *map(_float_entries, parts)])


def _match(
    key: Key,
    slug: str,
    outcomes: Sequence[Outcome],
    case_faults: CaseFaults,
    tolerance: float = 0.0,
    clearly_wrong: float = 0.0,
) -> Match | None:
    """How a mistake matches; None if no case proves it, or if a case contradicts it.

    A case contradicts a mistake if it is right where the mistake is wrong, or has a value where the mistake raises. But
    a function with the mistake's values may rightly raise an exception where the mistake, written without a check, does
    not.
    tolerance, clearly_wrong: the largest difference from the mistake's values, and the least error of a mistake that
    counts as wrong, both as shares of the largest entry; at least the key's tolerance.
    """
    near, clear = (replace(key, tolerance=max(key.tolerance, least)) for least in (tolerance, clearly_wrong))
    answered = list(enumerate(zip(key.cases, outcomes, strict=True)))
    answer_is_wrong = [has_wrong_values(verdicts) for verdicts in case_faults]

    @cache
    def mistake_is_wrong(i: int) -> bool:
        return has_wrong_values(faults(clear, key.cases[i].expected, key.cases[i].mistakes[slug]))

    raises_rightly = False
    for i, (case, outcome) in answered:
        may_contradict = not answer_is_wrong[i] or _only_first_raises(case, slug, outcome)
        if may_contradict and mistake_is_wrong(i):
            if not case.expected.raised:
                return None
            raises_rightly = True
    form_faults = {}  # index of each case with the mistake's values -> its number of faults of form
    for i, (case, outcome) in answered:
        differences = list(_differences(near, case, case.mistakes[slug], outcome))
        if not has_wrong_values(differences):
            form_faults[i] = len(differences)
    proof = frozenset(i for i in form_faults if answer_is_wrong[i] and mistake_is_wrong(i))
    if not proof or (raises_rightly and all(key.cases[i].expected.raised for i in proof)):
        return None
    wrong = frozenset(i for i, _ in answered if mistake_is_wrong(i))
    cases = frozenset(form_faults)
    alike = cases | {i for i, (case, outcome) in answered if _raise_alike(case.mistakes[slug], outcome)}
    return Match(slug, cases, alike, proof, wrong, sum(form_faults.values()), near.tolerance)


def _only_first_raises(case: Case, slug: str, outcome: Outcome) -> bool:
    """Whether a mistake raises an exception where an outcome has a value."""
    return bool(case.mistakes[slug].raised) and not (outcome.raised or outcome.stopped)


def _raise_alike(known: Outcome, outcome: Outcome) -> bool:
    return bool(known.raised and outcome.raised and known.raised.type == outcome.raised.type)


def has_wrong_values(verdicts: Iterable[Verdict]) -> bool:
    """Whether any of these faults is more than a fault of form."""
    return any(fault.kind not in FORM_KINDS for fault in verdicts)
