"""Store the result of grading one submission as a JSON file, named after everything that it depends on.

Reports are never overwritten. A report names no student and holds no expected value.
"""

import json
import os
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from autograder.course.atomic_write import write_atomically
from check.scoring import Result

_FIELDS = {field.name for field in fields(Result)}


@dataclass(frozen=True)
class Report:
    """The result of grading one submission.

    digest: SHA-256 of `made_from`, in hex; the report's name.
    chapter: "01_attention".
    trouble: why nothing could be graded; "" if something could.
    notes: what is unusual about the file and its cells, in plain words.
    log: the sandbox's notes on the run, for the instructor.
    results: one for each exercise, in the notebook's order.
    seconds: how long reading, running and judging took.
    made_from: name of everything that decides the score (the submission, the release, the seed, Python, ...) -> its
        version or fingerprint. The same parts give the same scores.
    """

    digest: str
    chapter: str
    trouble: str
    notes: tuple[str, ...]
    log: tuple[str, ...]
    results: tuple[Result, ...]
    seconds: float
    made_from: dict[str, str]

    @property
    def earned(self) -> float:
        return sum(result.earned for result in self.results)

    @property
    def points(self) -> float:
        return sum(result.points for result in self.results)

    def result(self, function: str) -> Result:
        """Return the result of one exercise. Raises StopIteration if there is none."""
        return next(result for result in self.results if result.function == function)

    def to_json(self) -> dict:
        """Return the report as a JSON-serialisable dict."""
        return asdict(self)

    @staticmethod
    def from_json(fields: object) -> "Report":
        """Return the report that `to_json` wrote. Raises ValueError for anything else, such as a missing field."""
        known = msgspec.convert(fields, dict[str, Any])
        try:
            results = [_in_current_form(result) for result in known["results"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its results cannot be read: {error}") from error
        return msgspec.convert(known | {"results": results}, Report)


def _in_current_form(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result's fields; those of an older form in today's, which takes half the time of reading a class."""
    return result if result.keys() == _FIELDS else Result.from_json(result).to_json()


class Reports:
    """The reports of one chapter, in a folder that only its owner can read."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def find(self, digest: str) -> Report | None:
        """Return the report of that name, or None if there is no complete one."""
        try:
            return Report.from_json(json.loads(self._file(digest).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None

    def add(self, report: Report) -> Report:
        """Store a report, completely or not at all, and return it. An older one of the same name is renamed."""
        file = self._file(report.digest)
        if file.exists():
            os.replace(file, self.folder / f"{report.digest}.before-{time.time_ns()}.json")
        write_atomically(file, json.dumps(report.to_json(), indent=1), mode=0o600)
        return report

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"
