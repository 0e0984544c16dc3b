"""Explain why an exercise is wrong: which known mistakes its outcomes match, and what else to tell the student."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from check.calling import Outcome
from check.faults import FORM_KINDS, KINDS, CaseFaults, Verdict, faults
from check.fingerprints import has_fingerprint, inherited_mistake
from check.key import Key
from check.matching import VALUELESS_KINDS, Match, best_matches, has_wrong_values, is_exactly
from check.patterns import constant_answer, raises_by_axes
from check.relations.relation import relation
from check.sketches import slip
from check.verdicts_of_test import on_case

_NEARLY = "Your numbers also differ a little from those of this mistake. Did you add a small constant somewhere?"


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


def explain(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> Explanation | None:
    """Explain the outcomes of an exercise.

    Args:
        key: its answer key.
        outcomes: one for each case of the key.
        case_faults: the faults of each, from `scoring.faults_of_cases`.

    Returns:
        Explanation, or None if nothing is wrong.
    """
    if not any(case_faults):
        return None
    every_case = range(len(outcomes))
    for slug in key.mistakes:
        if is_exactly(key, slug, outcomes):
            return Explanation((slug,), _case_to_show(key, case_faults, every_case), ())
    if not key.tests and (sentence := constant_answer(key, outcomes, case_faults)):
        return _explained_by(sentence, _case_to_show(key, case_faults, every_case), case_faults)
    if slug := inherited_mistake(key, outcomes):
        return _explained_by_inherited(key, slug, case_faults)
    by_axes = raises_by_axes(key, outcomes)
    matches = best_matches(key, outcomes, case_faults, bool(by_axes))
    unexplained = _unexplained_faults(key, outcomes, case_faults, matches)
    values_are_known = matches or not any(map(has_wrong_values, case_faults))
    form_mistake = _form_mistake(key, unexplained) if values_are_known else []
    shown = _case_to_show(key, case_faults, matches[0].proof if matches else every_case)
    remarks = _remarks(key, unexplained, case_faults[shown][0], with_form=not form_mistake)
    if case_faults[shown][0] in unexplained[shown]:
        remarks.pop(case_faults[shown][0].kind, None)  # the verdict already says it
    if any(match.tolerance > key.tolerance for match in matches):
        remarks["near"] = _NEARLY
    if by_axes and case_faults[shown][0].kind == "raised" and not matches:
        remarks = {"axes": by_axes, **remarks}
    elif by_axes and "raised" in remarks:
        remarks["raised"] += f" {by_axes}"
    sentence = "" if matches else _relation_and_slip(key, outcomes, case_faults)
    mistakes = (match.slug for match in matches)
    return Explanation((*mistakes, *form_mistake), shown, tuple(remarks.values()), sentence)


def _explained_by(sentence: str, shown: int, case_faults: CaseFaults) -> Explanation:
    if case_faults[shown][0].kind == "value":
        return Explanation((), shown, (), sentence)
    return Explanation((), shown, (sentence,))


def _explained_by_inherited(key: Key, slug: str, case_faults: CaseFaults) -> Explanation:
    """Explain by an inherited mistake; faults of form and in cases that expect an exception become remarks."""
    shown = _case_to_show(key, case_faults, (i for i, case in enumerate(key.cases) if has_fingerprint(key, case)))
    unexplained = [
        [fault for fault in verdicts if case.expected.raised or fault.kind in FORM_KINDS]
        for case, verdicts in zip(key.cases, case_faults, strict=True)
    ]
    remarks = _remarks(key, unexplained, case_faults[shown][0], with_form=True)
    return Explanation((slug,), shown, tuple(remarks.values()))


def _case_to_show(key: Key, case_faults: CaseFaults, candidates: Iterable[int]) -> int:
    """The wrong case that helps most: the most basic kind of fault first, then the smallest input.

    An exception where a value is expected comes before the wrong type of exception. If a student's test rejects the
    right function, that comes before the wrong functions that it accepts.
    """
    wrong = (i for i in candidates if case_faults[i])
    rejects_right = [bool(key.tests and case.expected.value) for case in key.cases]
    return min(
        wrong,
        key=lambda i: (
            KINDS.index(case_faults[i][0].kind),
            bool(key.cases[i].expected.raised),
            not rejects_right[i],
            key.cases[i].size,
            i,
        ),
    )


def _unexplained_faults(
    key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults, matches: Sequence[Match]
) -> CaseFaults:
    """The faults of each case that its matching mistake does not have."""
    unexplained = []
    for i, (case, outcome) in enumerate(zip(key.cases, outcomes, strict=True)):
        matching = sorted((match for match in matches if i in match.cases), key=lambda match: i not in match.proof)
        if matching:
            near = replace(key, tolerance=matching[0].tolerance)
            differences = faults(near, case.mistakes[matching[0].slug], outcome)
            # The mistake's form can be wrong where the answer's is right.
            unexplained.append([f for f in differences if f.kind not in FORM_KINDS or f in case_faults[i]])
        else:
            unexplained.append(list(case_faults[i]))
    return unexplained


def _form_mistake(key: Key, unexplained: CaseFaults) -> list[str]:
    """The mistake that has right values everywhere and exactly these faults of form, if there is one."""
    if any(fault.kind in VALUELESS_KINDS for verdicts in unexplained for fault in verdicts):
        return []
    form = [{fault for fault in verdicts if fault.kind in FORM_KINDS} for verdicts in unexplained]
    if not any(form):
        return []
    for slug in key.mistakes:
        own = (set(faults(key, case.expected, case.mistakes[slug])) for case in key.cases)
        if all(expected == actual for expected, actual in zip(own, form, strict=True)):
            return [slug]
    return []


def _remarks(key: Key, unexplained: CaseFaults, verdict: Verdict, with_form: bool) -> dict[str, str]:
    """Describe each kind of unexplained fault by its smallest case, skipping the one in the verdict."""
    remarks: dict[str, str] = {}
    for i in sorted(range(len(unexplained)), key=lambda i: (key.cases[i].size, i)):
        for fault in unexplained[i]:
            if fault.message != verdict.message and (with_form or fault.kind not in FORM_KINDS):
                remarks.setdefault(fault.kind, on_case(fault.message, key.cases[i].name))
    return dict(sorted(remarks.items(), key=lambda item: KINDS.index(item[0])))


def _relation_and_slip(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> str:
    """Describe wrong values by a relation to the right ones and by a slip that leads to them; "" if none is known."""
    wrong = [i for i, verdicts in enumerate(case_faults) if verdicts and verdicts[0].kind == "value"]
    if not wrong or key.measure or key.tests:  # positions and verdicts have no factors and no slips
        return ""
    sentence = relation(key, [key.cases[i] for i in wrong], [outcomes[i] for i in wrong])
    words = slip(key, outcomes)
    return (
        f"{sentence} Your numbers are those of a right function with one slip: {words}.".strip() if words else sentence
    )
