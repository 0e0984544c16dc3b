"""What grading one submission came to, as one JSON file named after everything it depends on.

Reports are only ever added. Nothing in one tells whose work it is, and none holds an expected value.
"""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from autograder.course.atomic_write import write_atomically
from check.judge import Result


@dataclass(frozen=True)
class Report:
    """How a submission was graded.

    digest: SHA-256 of all it is made from, in hex; the report's name.
    notes: what was odd about the file and its cells, in plain words.
    log: what the sandbox has to say about the run, for the instructor.
    trouble: why nothing could be graded; empty if something was.
    results: one for each exercise, in the notebook's order. seconds: what reading, running and judging took.
    made_from: the submission, the release, the seed, the exercises, Python, NumPy, grader and sandbox -> version or
    fingerprint of each. The same parts give the same scores.
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
        """The result of one exercise. Raises StopIteration if it has none."""
        return next(result for result in self.results if result.function == function)

    def to_json(self) -> dict:
        """The report as a JSON-serialisable dict."""
        return asdict(self)

    @staticmethod
    def from_json(fields: object) -> "Report":
        """The report that `to_json` wrote. Raises ValueError for anything else: a field too few, or of another type."""
        there = msgspec.convert(fields, dict[str, Any])
        try:
            results = [Result.from_json(result).to_json() for result in there["results"]]  # of earlier versions too
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its results are none: {error}") from error
        return msgspec.convert(there | {"results": results}, Report)


class Reports:
    """The reports of one chapter, in a folder that only its owner can read."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def find(self, digest: str) -> Report | None:
        """The report of that name, if there is a whole one."""
        try:
            return Report.from_json(json.loads(self._file(digest).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None

    def add(self, report: Report) -> Report:
        """Store a report, whole or not at all; one of the same name is set aside, not lost."""
        file = self._file(report.digest)
        if file.exists():
            os.replace(file, self.folder / f"{report.digest}.before-{time.time_ns()}.json")
        write_atomically(file, json.dumps(report.to_json(), indent=1), mode=0o600)
        return report

    def _file(self, digest):
        return self.folder / f"{digest}.json"
