"""A class without its ids: each student gets a name that is the same in every chapter and says nothing."""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from autograder.grading.report import Report
from autograder.pages.class_report.entries import Class

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"


def anonymous(group: Class, seed: int) -> Class:
    """The class under pseudonyms, in their order; ids that students' code wrote into messages go too.

    seed: the course's secret seed, without which nobody can tell who is who.
    """
    students = [entry.student for entry in group.entries]
    names = pseudonyms([*students, *group.ungraded, *group.absent], seed)
    hide = _hider(names)

    def renamed(ids):
        return tuple(sorted(names[student] for student in ids))

    entries = (
        replace(
            entry,
            student=names[entry.student],
            report=_without_ids(entry.report, hide),
            sources={name: hide(source) for name, source in entry.sources.items()},
            own=tuple(map(hide, entry.own)),
        )
        for entry in group.entries
    )
    return Class(
        group.chapter,
        tuple(sorted(entries, key=lambda entry: entry.student)),
        renamed(group.ungraded),
        renamed(group.again),
        renamed(group.absent),
    )


def pseudonyms(students: Iterable[str], seed: int) -> dict[str, str]:
    """Student id -> pseudonym: two speakable words from a keyed hash, as in "lusab-babad" (arXiv:0901.4016)."""
    names: dict[str, str] = {}
    for student in sorted(set(students), key=lambda student: _hash(student, seed, 0)):
        # Two students of a thousand share 32 bits once in nine thousand classes; the second then takes others.
        tries = (_spoken(_hash(student, seed, n)) for n in range(len(names) + 1))
        names[student] = next(name for name in tries if name not in names.values())
    return names


def _hash(student, seed, n):
    message = f"pseudonym {n} {student}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hmac.digest(str(seed).encode(), message, hashlib.sha256)[:4], "big")


def _spoken(bits):
    """32 bits as two words of consonant, vowel, consonant, vowel, consonant."""
    word = ""
    for letters in (CONSONANTS, VOWELS, CONSONANTS, VOWELS, CONSONANTS) * 2:
        word += letters[bits % len(letters)]
        bits //= len(letters)
    return f"{word[:5]}-{word[5:]}"


def _hider(names: dict[str, str]) -> Callable[[str], str]:
    """A function that puts pseudonyms for ids that stand in a text as words of their own, in whatever case."""
    patterns = {
        student.lower(): (re.compile(rf"(?<![^\W_]){re.escape(student)}(?![^\W_])", re.IGNORECASE), name)
        for student, name in names.items()
    }

    def hide(text):
        lower = text.lower()
        for student, (pattern, name) in patterns.items():
            if student in lower:
                text = pattern.sub(name, text)
        return text

    return hide


def _without_ids(report: Report, hide) -> Report:
    """The report with ids hidden in everything that a student's file or code may have written into it."""
    results = tuple(
        replace(
            result,
            verdict=replace(result.verdict, message=hide(result.verdict.message)),
            remarks=tuple(map(hide, result.remarks)),
        )
        if result.verdict
        else result
        for result in report.results
    )
    return replace(
        report,
        digest="",  # it would name a file of the course folder
        trouble=hide(report.trouble),
        notes=tuple(map(hide, report.notes)),
        log=tuple(map(hide, report.log)),
        results=results,
    )
