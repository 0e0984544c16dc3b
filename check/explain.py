"""Explain why an exercise is wrong: which known mistakes its outcomes match, and what else to tell the student.

A mistake is recognised by its values. A different dtype or an input changed in place is a fault of form, which neither
hides the mistake nor proves it; a case that raises shows no values at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from check.calling import Outcome
from check.comparing import TOLERANCES
from check.faults import FORM_KINDS, KINDS, CaseFaults, Verdict, faults
from check.key import Case, Key
from check.relations import relation
from check.sketches import slip
from check.values import pack

MAX_MISTAKES = 2  # with more of them, almost any outcome could be explained
VALUELESS_KINDS = ("stopped", "blank", "raised")  # after such a fault nobody knows what the values would have been


@dataclass(frozen=True)
class Explanation:
    """What to tell a student about a wrong exercise.

    mistakes: slugs of known mistakes; the first explains most. shown: index of the case to show. remarks: sentences on
    faults that no mistake explains. relation: how the wrong values relate to the right ones, if no mistake is known.
    """

    mistakes: tuple[str, ...]
    shown: int
    remarks: tuple[str, ...]
    relation: str = ""


@dataclass(frozen=True)
class _Match:
    """How well a known mistake matches the outcomes; cases are given by their indices.

    cases: those with the mistake's values. proof: those of them on which the mistake is wrong. form_faults: how many
    faults of form these cases have that the mistake does not.
    """

    slug: str
    cases: frozenset[int]
    proof: frozenset[int]
    form_faults: int


def explain(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> Explanation | None:
    """Explain the outcomes of an exercise.

    Args:
        key: its answer key.
        outcomes: one for each case of the key.
        case_faults: what is wrong with each of them, as `faults.of_cases` says.

    Returns:
        Explanation, or None if nothing is wrong.
    """
    if not any(case_faults):
        return None
    for slug in key.mistakes:
        if _is_exactly(key, slug, outcomes):
            return Explanation((slug,), _case_to_show(key, case_faults, range(len(outcomes))), ())
    matches = _best_matches(key, outcomes, case_faults)
    unexplained = _unexplained_faults(key, outcomes, case_faults, matches)
    form_mistake = _form_mistake(key, unexplained)
    remarks = _remarks(key, unexplained, with_form=not form_mistake)
    shown = _case_to_show(key, case_faults, matches[0].proof if matches else range(len(outcomes)))
    if not matches and not form_mistake:
        remarks.pop(case_faults[shown][0].kind)  # the verdict says it already
    slug, sentence = ("", "") if matches else _relation_or_slip(key, outcomes, case_faults)
    mistakes = [slug] if slug else [match.slug for match in matches]
    return Explanation((*mistakes, *form_mistake), shown, tuple(remarks.values()), sentence)


def same(key: Key, case: Case, known: Outcome, outcome: Outcome) -> bool:
    """Return whether two outcomes of a case agree, up to the rounding of the case's own dtype."""
    return not _differences(key, case, known, outcome) and set(known.modified) == set(outcome.modified)


def _differences(key: Key, case: Case, known: Outcome, outcome: Outcome) -> list[Verdict]:
    """Return how an outcome differs from a known one.

    A mistake may promote float32 to float64 without making its digits any better, so the coarsest dtype's tolerance
    applies. Many mistakes raise the same type of exception, so an exception matches only with the same message.
    """
    if known.raised and outcome.raised and not case.expected.raised and known.raised.message != outcome.raised.mark:
        return [Verdict(False, "raised", "")]
    dtypes = {array.dtype.name for array in pack(case.expected.value)[1]}
    coarsest = max([key.tolerance, *(TOLERANCES[name] for name in dtypes & set(TOLERANCES))])
    return list(faults(replace(key, tolerance=coarsest), known, outcome))


def _is_exactly(key: Key, slug: str, outcomes: Sequence[Outcome]) -> bool:
    pairs = zip(key.cases, outcomes, strict=True)
    return all(same(key, case, case.mistakes[slug], outcome) for case, outcome in pairs)


def _case_to_show(key: Key, case_faults: CaseFaults, candidates: Iterable[int]) -> int:
    """Return the wrong case that helps most: the most basic kind of fault first, then the smallest input."""
    wrong = (i for i in candidates if case_faults[i])
    return min(wrong, key=lambda i: (KINDS.index(case_faults[i][0].kind), key.cases[i].size, i))


def _best_matches(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> list[_Match]:
    """Return the fewest mistakes that explain at least half of the cases with wrong values; or none."""
    candidates = [match for slug in key.mistakes if (match := _match(key, slug, outcomes, case_faults))]
    wrong = {i for i, found in enumerate(case_faults) if _has_wrong_values(found)}
    # Many mistakes raise the same exception, so exceptions are proof only where no case has values.
    with_values = {i for i in wrong if case_faults[i][0].kind not in VALUELESS_KINDS} or wrong
    chosen: list[_Match] = []
    while candidates and len(chosen) < MAX_MISTAKES:
        open_cases = with_values.difference(*(match.proof for match in chosen))
        candidates.sort(key=lambda match: (-len(match.proof & open_cases), match.form_faults, -len(match.proof)))
        best, *others = candidates
        tied = any(other.proof == best.proof and other.form_faults == best.form_faults for other in others)
        if tied or not best.proof & open_cases:
            break
        chosen.append(best)
        candidates = others
    explained = frozenset().union(*(match.proof for match in chosen))
    return chosen if 2 * len(explained & with_values) >= len(with_values) else []


def _match(key: Key, slug: str, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> _Match | None:
    """Return how a mistake matches; None if no case proves it, or if a case is right where the mistake is wrong."""
    cases, proof, form_faults = set(), set(), 0
    for i, (case, outcome) in enumerate(zip(key.cases, outcomes, strict=True)):
        mistake_is_wrong = _has_wrong_values(faults(key, case.expected, case.mistakes[slug]))
        if mistake_is_wrong and not _has_wrong_values(case_faults[i]):
            return None
        differences = _differences(key, case, case.mistakes[slug], outcome)
        if not _has_wrong_values(differences):
            cases.add(i)
            proof |= {i} if mistake_is_wrong else set()
            form_faults += len(differences)
    return _Match(slug, frozenset(cases), frozenset(proof), form_faults) if proof else None


def _unexplained_faults(
    key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults, matches: Sequence[_Match]
) -> CaseFaults:
    """Return the faults of each case that are not the matching mistake's own."""
    unexplained = []
    for i, (case, outcome) in enumerate(zip(key.cases, outcomes, strict=True)):
        matching = sorted((match for match in matches if i in match.cases), key=lambda match: i not in match.proof)
        if matching:
            unexplained.append(list(faults(key, case.mistakes[matching[0].slug], outcome)))
        else:
            unexplained.append(list(case_faults[i]))
    return unexplained


def _form_mistake(key: Key, unexplained: CaseFaults) -> list[str]:
    """Return the mistake that has right values everywhere and exactly these faults of form, if there is one."""
    visible = [i for i, found in enumerate(unexplained) if not any(f.kind in VALUELESS_KINDS for f in found)]
    form = [{fault for fault in unexplained[i] if fault.kind in FORM_KINDS} for i in visible]
    if not any(form):
        return []
    for slug in key.mistakes:
        own = (set(faults(key, key.cases[i].expected, key.cases[i].mistakes[slug])) for i in visible)
        if all(one == other for one, other in zip(own, form, strict=True)):
            return [slug]
    return []


def _remarks(key: Key, unexplained: CaseFaults, with_form: bool) -> dict[str, str]:
    """Return a sentence for each kind of unexplained fault, seen on its smallest case."""
    remarks: dict[str, str] = {}
    for i in sorted(range(len(unexplained)), key=lambda i: (key.cases[i].size, i)):
        for fault in unexplained[i]:
            if with_form or fault.kind not in FORM_KINDS:
                remarks.setdefault(fault.kind, f"{fault.message} (On the case “{key.cases[i].name}”.)")
    return dict(sorted(remarks.items(), key=lambda item: KINDS.index(item[0])))


def _relation_or_slip(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> tuple[str, str]:
    """Return the slug of a mistake that has one slip more, or "", and a sentence about wrong values, or ""."""
    wrong = [i for i, found in enumerate(case_faults) if found and found[0].kind == "value"]
    if not wrong:
        return "", ""
    sentence = relation(key, [key.cases[i] for i in wrong], [outcomes[i] for i in wrong])
    slug, words = slip(key, outcomes)
    if not words:
        return "", sentence
    origin = "that mistake with one more slip" if slug else "a right function with one slip"
    return slug, f"{sentence} Your numbers are those of {origin}: {words}.".strip()


def _has_wrong_values(found: Iterable[Verdict]) -> bool:
    return any(fault.kind not in FORM_KINDS for fault in found)
