"""Replace the ids of a class by pseudonyms, which are the same in every chapter."""

import hashlib
import hmac
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from autograder.grading.report import Report
from autograder.pages.class_report.entries import Class

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"

_WORD = re.compile(r"[^\W_]+")


def anonymous(group: Class, seed: int) -> Class:
    """Return the class with pseudonyms instead of ids, sorted by pseudonym.

    Ids in messages and in students' code are replaced too.

    seed: the course's secret seed. It is needed to link a pseudonym to its student.
    """
    students = [entry.student for entry in group.entries]
    names = pseudonyms([*students, *group.ungraded, *group.absent], seed)
    hide = _hider(names)

    def renamed(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names[student] for student in ids))

    entries = (
        replace(
            entry,
            student=names[entry.student],
            report=_without_ids(entry.report, hide),
            sources={name: hide(source) for name, source in entry.sources.items()},
            own_cells=tuple(map(hide, entry.own_cells)),
        )
        for entry in group.entries
    )
    return Class(
        group.chapter,
        tuple(sorted(entries, key=lambda entry: entry.student)),
        renamed(group.ungraded),
        renamed(group.resubmitted),
        renamed(group.absent),
    )


def pseudonyms(students: Iterable[str], seed: int) -> dict[str, str]:
    """Return student id -> pseudonym.

    A pseudonym is two pronounceable words made from a keyed hash, such as "lusab-babad" (arXiv:0901.4016).
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for student in sorted(set(students), key=lambda student: _hash(student, seed, 0)):
        # In a class of a thousand, two students share these 32 bits with probability 1/9000. Then try another hash.
        candidates = (_pronounceable(_hash(student, seed, n)) for n in range(len(names) + 1))
        names[student] = next(name for name in candidates if name not in taken)
        taken.add(names[student])
    return names


def _hash(student: str, seed: int, n: int) -> int:
    message = f"pseudonym {n} {student}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hmac.digest(str(seed).encode(), message, hashlib.sha256)[:4], "big")


def _pronounceable(bits: int) -> str:
    """Return 32 bits as two words of consonant, vowel, consonant, vowel, consonant."""
    word = ""
    for letters in (CONSONANTS, VOWELS, CONSONANTS, VOWELS, CONSONANTS) * 2:
        word += letters[bits % len(letters)]
        bits //= len(letters)
    return f"{word[:5]}-{word[5:]}"


def _hider(names: dict[str, str]) -> Callable[[str], str]:
    """Return a function that replaces each id in a text by its pseudonym, in any case, but not inside a longer word."""
    ids = {student.lower(): (student, name) for student, name in names.items()}
    in_order = list(ids.values())
    # A text with an id has every word of the id. Searching for the id's rarest word first leaves few ids for each text.
    n_ids = Counter(word for student in ids for word in _words(student))
    ids_with: dict[str, list[int]] = defaultdict(list)
    for number, student in enumerate(ids):
        ids_with[min(_words(student), key=lambda word: (n_ids[word], word), default="")].append(number)

    def hide(text: str) -> str:
        words = {"", *_words(text)}
        for number in sorted(number for word in words for number in ids_with.get(word, ())):
            text = _replaced(text, *in_order[number])
        return text

    return hide


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _replaced(text: str, student: str, name: str) -> str:
    return re.sub(rf"(?<![^\W_]){re.escape(student)}(?![^\W_])", name, text, flags=re.IGNORECASE)


def _without_ids(report: Report, hide: Callable[[str], str]) -> Report:
    """Return the report with ids hidden in every text that a student's file or code can influence."""
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
        digest="",  # a digest is the name of a file in the course folder
        trouble=hide(report.trouble),
        notes=tuple(map(hide, report.notes)),
        log=tuple(map(hide, report.log)),
        results=results,
    )
