"""Store the result of grading a submission as a JSON file, whose name is a digest of everything that decides it.

A report that `grade --force` replaces is kept until the next one. A report names no student, and contains no expected
value.
"""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from autograder.course.files import write_atomically
from check.scoring import Result

_FIELDS = {field.name for field in fields(Result)}


@dataclass(frozen=True)
class Report:
    """The result of grading one submission.

    digest: SHA-256 of `made_from`, in hex; the report's name.
    chapter: "01_attention".
    trouble: why the submission could not be graded; "" if it could.
    notes: what is unusual about the file and its cells, in plain words.
    log: the sandbox's notes on the run, for the instructor.
    results: one for each exercise, in the notebook's order.
    seconds: how long reading, running and judging took.
    made_from: name -> version or digest, of everything that decides the score (the submission, the release, the
        seed, Python, ...). The same parts give the same scores.
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
        """Return the report that `to_json` wrote. Raises ValueError if a field is missing or wrong."""
        known = msgspec.convert(fields, dict[str, Any])
        try:
            results = [_in_current_form(result) for result in known["results"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its results cannot be read: {error}") from error
        return msgspec.convert(known | {"results": results}, Report)


def _in_current_form(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result's fields. Only older forms are converted, which takes half the time of reading a class."""
    return result if result.keys() == _FIELDS else Result.from_json(result).to_json()


class Reports:
    """The reports of one chapter, in a folder that only its owner can read."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def find(self, digest: str) -> Report | None:
        """Return the report with this name, or None if there is no complete one."""
        try:
            return Report.from_json(json.loads(self._file(digest).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None

    def add(self, report: Report) -> Report:
        """Store a report, completely or not at all, and return it. Keep one older report with the same name.

        Raises OSError if it cannot write; then the older report keeps its name.
        """
        file, new = self._file(report.digest), self.folder / f"{report.digest}.new"
        write_atomically(new, json.dumps(report.to_json(), indent=1), mode=0o600)
        if file.exists():
            os.replace(file, self.folder / f"{report.digest}.before.json")
        os.replace(new, file)
        return report

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"
