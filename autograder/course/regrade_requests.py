"""Regrade requests: what students write in regrade.txt, and what instructors answer.

Students hand the file in beside the notebook. course/requests/CHAPTER.json keeps every request, even after a later file
has replaced the one that it came from.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.course.files import read_json, write_json
from check.words import did_you_mean

FILE = "regrade.txt"
MAX_BYTES = 10_000
# Canvas adds a number to the second file of a name, and so do browsers. Windows hides one ".txt", so some type another.
_FILE_NAMES = re.compile(r"regrade(-\d+| ?\(\d+\))?\.txt(\.txt)?", re.IGNORECASE)
# "softmax: why", and what else people write around a name in a text file.
_FIRST_LINE = re.compile(
    r"[\s#*`>-]*+(?:exercise\s+)?[*`]*(?P<name>[a-z_]\w*)[*`]*\s*:[*`]*(?P<rest>.*)", re.IGNORECASE
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Request:
    """A request of a student.

    exercise: "" if the text names none of the chapter. text: plain text, from the student. answer: Markdown, from an
    instructor; "" while the request is open.
    """

    exercise: str
    text: str
    answer: str = ""


def is_request_file(name: str) -> bool:
    """Return whether a file of this name holds regrade requests."""
    return bool(_FILE_NAMES.fullmatch(name))


def parse(raw: bytes, exercises: Collection[str]) -> list[Request]:
    """Return the requests in the bytes of a regrade.txt, one for each exercise that it names.

    A line "softmax: why" begins a request, and the lines below it continue it. Text that names no exercise becomes a
    request without one. This never raises, whatever the bytes are. It cuts text beyond the limit, and says so in the
    request.
    """
    names = {name.casefold(): name for name in exercises}
    lines: dict[str, list[str]] = {"": []}
    current = ""
    for line in _text(raw[:MAX_BYTES]).split("\n"):
        first = _FIRST_LINE.fullmatch(line)
        name = first["name"].casefold() if first else ""
        if first and name in names:
            current, line = names[name], first["rest"]
        elif name and did_you_mean(name, names):
            current = ""  # a misspelt name must not continue another exercise's request
        lines.setdefault(current, []).append(line.strip())
    if len(raw) > MAX_BYTES:
        lines[current].append(f"(This file has more than {MAX_BYTES:,} bytes. The rest was not read.)")
    texts = {exercise: "\n".join(of_exercise).strip() for exercise, of_exercise in lines.items()}
    return [Request(exercise, text) for exercise, text in texts.items() if exercise or text]


def with_new(kept: Sequence[Request], new: Iterable[Request]) -> list[Request]:
    """Return the kept requests, and the new ones that ask for something else."""
    asked = {(request.exercise, request.text) for request in kept}
    return [*kept, *(request for request in new if (request.exercise, request.text) not in asked)]


def load_requests(course: Path, chapter: str) -> dict[str, list[Request]]:
    """Return student -> requests. Raises UserError for a damaged file."""
    return read_json(_file(course, chapter), dict[str, list[Request]], {})


def save_requests(course: Path, chapter: str, requests: Mapping[str, Sequence[Request]]) -> None:
    """Replace the requests of a chapter. The caller holds the course's lock."""
    path = _file(course, chapter)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_json(path, requests)


def _text(raw: bytes) -> str:
    """Return text without control characters and without marks that change the reading direction."""
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"  # Notepad can write both
    text = raw.decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def _file(course: Path, chapter: str) -> Path:
    return course / "requests" / f"{chapter}.json"
