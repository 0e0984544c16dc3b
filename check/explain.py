"""Why an exercise came out as it did: the known mistakes that explain its outcomes, and what else is to be said.

A mistake is believed for the numbers that it came to. That they are kept in another dtype, that an input is changed in
place, that some input raises: those are slips of their own, and do not hide it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from check.calling import Outcome
from check.comparing import TOLERANCES
from check.faults import KINDS, MEANT, Verdict, faults
from check.key import Case, Key
from check.relations import relation
from check.sketches import slip
from check.values import pack

MOST = 2  # mistakes whose values are looked for: with more, anything could be explained
UNSEEN = ("stopped", "blank", "raised")  # what a case would have come to cannot be seen
Wrong = Sequence[Sequence[Verdict]]  # the faults of each case


@dataclass(frozen=True)
class Explanation:
    """What a result says.

    mistakes: slugs, what explains most first. shown: index of the case to show. remarks: sentences on what is left.
    relation: a sentence on what wrong values have to do with the right ones, if no mistake is known for them.
    """

    mistakes: tuple[str, ...]
    shown: int
    remarks: tuple[str, ...]
    relation: str = ""


@dataclass(frozen=True)
class _Fit:
    """How a mistake fits the outcomes, by index of the cases.

    agrees: cases that come to the mistake's values. proved: those of them on which the mistake is wrong.
    left: how many faults of another kind those cases have besides.
    """

    slug: str
    agrees: frozenset[int]
    proved: frozenset[int]
    left: int


def explain(key: Key, outcomes: Sequence[Outcome]) -> Explanation | None:
    """Explain the outcomes of an exercise, one for each case of the key; None if nothing is wrong with them."""
    wrong = [list(faults(key, case.expected, o)) for case, o in zip(key.cases, outcomes, strict=True)]
    if not any(wrong):
        return None
    exactly = [slug for slug in key.mistakes if _all_same(key, slug, outcomes)]
    if exactly:
        return Explanation((exactly[0],), _first(key, wrong, range(len(wrong))), ())
    fits = _of_values(key, outcomes, wrong)
    left = [
        list(faults(key, _explained(fits, i, case), o))
        for i, (case, o) in enumerate(zip(key.cases, outcomes, strict=True))
    ]
    manner = _of_manner(key, left)
    remarks = _remarks(key, left, manner)
    shown = _first(key, wrong, fits[0].proved if fits else range(len(wrong)))
    if not fits and not manner:
        remarks.pop(wrong[shown][0].kind)  # it is what is shown
    valued = [i for i, found in enumerate(wrong) if found and found[0].kind == "value"]
    slug, related = ("", "") if fits or not valued else _unnamed(key, outcomes, valued)
    named = [slug] if slug else [fit.slug for fit in fits]
    return Explanation((*named, *manner), shown, tuple(remarks.values()), related)


def _unnamed(key: Key, outcomes: Sequence[Outcome], valued: Sequence[int]) -> tuple[str, str]:
    """The mistake that is there with one slip more, if it is, and what is true of wrong values that no mistake has."""
    sentence = relation(key, [key.cases[i] for i in valued], [outcomes[i] for i in valued])
    slug, words = slip(key, outcomes)
    if not words:
        return "", sentence
    of = "that mistake with one slip more" if slug else "a right function with one slip"
    return slug, f"{sentence} Your numbers are those of {of} in it: {words}.".strip()


def same(key: Key, case: Case, known: Outcome, outcome: Outcome) -> bool:
    """Whether two outcomes of a case are alike, up to the rounding of the case's own dtype."""
    return not _other(key, case, known, outcome) and set(known.modified) == set(outcome.modified)


def _other(key: Key, case: Case, known: Outcome, outcome: Outcome) -> list[Verdict]:
    """What is different from a known outcome.

    A mistake may promote float32 to float64; its digits are no better for that. Many raise the same kind of exception:
    where none is due, it is the known one only if it says the same.
    """
    if known.raised and outcome.raised and not case.expected.raised and known.raised.message != outcome.raised.mark:
        return [Verdict(False, "raised", "")]
    dtypes = {array.dtype.name for array in pack(case.expected.value)[1]}
    coarsest = max([key.tolerance, *(TOLERANCES[name] for name in dtypes & set(TOLERANCES))])
    return list(faults(replace(key, tolerance=coarsest), known, outcome))


def _all_same(key: Key, slug: str, outcomes: Sequence[Outcome]) -> bool:
    return all(same(key, case, case.mistakes[slug], o) for case, o in zip(key.cases, outcomes, strict=True))


def _first(key: Key, wrong: Wrong, among: Iterable[int]) -> int:
    """The case to show: the first kind of trouble, then the smallest input."""
    return min((i for i in among if wrong[i]), key=lambda i: (KINDS.index(wrong[i][0].kind), key.cases[i].size, i))


def _of_values(key: Key, outcomes: Sequence[Outcome], wrong: Wrong) -> list[_Fit]:
    """The fewest mistakes that explain the most cases whose values are wrong; none, if that is under half of them."""
    fits = [fit for slug in key.mistakes if (fit := _fit(key, slug, outcomes, wrong))]
    meant = {i for i, found in enumerate(wrong) if _meant(found)}
    # Many mistakes raise the same exception: it proves one where there is no value to prove it.
    seen = {i for i in meant if wrong[i][0].kind not in UNSEEN} or meant
    chosen: list[_Fit] = []
    while fits and len(chosen) < MOST:
        todo = seen.difference(*(fit.proved for fit in chosen))
        fits.sort(key=lambda fit: (-len(fit.proved & todo), fit.left, -len(fit.proved)))
        best, *others = fits
        rivals = [fit for fit in others if fit.proved == best.proved and fit.left == best.left]
        if not best.proved & todo or rivals:
            break
        chosen.append(best)
        fits = others
    explained = frozenset().union(*(fit.proved for fit in chosen))
    return chosen if 2 * len(explained & seen) >= len(seen) else []


def _fit(key: Key, slug: str, outcomes: Sequence[Outcome], wrong: Wrong) -> _Fit | None:
    """How a mistake fits; None if it does not: it is nowhere to be seen, or a case is right where it goes wrong."""
    agrees, proved, left = set(), set(), 0
    for i, (case, outcome) in enumerate(zip(key.cases, outcomes, strict=True)):
        known = case.mistakes[slug]
        if not _meant(wrong[i]) and _shows(key, case, known):
            return None
        other = _other(key, case, known, outcome)
        if not _meant(other):
            agrees.add(i)
            proved |= {i} if _shows(key, case, known) else set()
            left += len(other)
    return _Fit(slug, frozenset(agrees), frozenset(proved), left) if proved else None


def _shows(key: Key, case: Case, known: Outcome) -> bool:
    return _meant(faults(key, case.expected, known))


def _explained(fits: Sequence[_Fit], i: int, case: Case) -> Outcome:
    """What a case was to come to, as far as the mistakes explain it."""
    agreeing = sorted((fit for fit in fits if i in fit.agrees), key=lambda fit: i not in fit.proved)
    return case.mistakes[agreeing[0].slug] if agreeing else case.expected


def _of_manner(key: Key, left: Wrong) -> list[str]:
    """The mistake, if there is one, that has right values everywhere and just these other faults."""
    seen = [i for i, found in enumerate(left) if not any(fault.kind in UNSEEN for fault in found)]
    manner = [{fault for fault in left[i] if fault.kind not in MEANT} for i in seen]
    if any(manner):
        for slug in key.mistakes:
            cases = (key.cases[i] for i in seen)
            if all(set(faults(key, c.expected, c.mistakes[slug])) == m for c, m in zip(cases, manner, strict=True)):
                return [slug]
    return []


def _remarks(key: Key, left: Wrong, manner: Sequence[str]) -> dict[str, str]:
    """Kind -> a sentence for each kind of fault that no mistake explains, on its smallest case."""
    remarks: dict[str, str] = {}
    for i in sorted(range(len(left)), key=lambda i: (key.cases[i].size, i)):
        for fault in left[i]:
            if fault.kind in MEANT or not manner:
                remarks.setdefault(fault.kind, f"{fault.message} Seen on the case “{key.cases[i].name}”.")
    return dict(sorted(remarks.items(), key=lambda item: KINDS.index(item[0])))


def _meant(found: Iterable[Verdict]) -> bool:
    return any(fault.kind in MEANT for fault in found)
