"""The version of the book and the date of its release, as CITATION.cff states them."""

from datetime import date
from pathlib import Path
from typing import Any

import yaml

from autograder.layout import REPO


def version(repo: Path = REPO) -> str:
    """Return the version of the book, its exercises and its autograder, such as "2.0.0"."""
    return _citation(repo)["version"]


def release_date(repo: Path = REPO) -> date:
    """Return the day on which this version was released."""
    return _citation(repo)["date-released"]


def _citation(repo: Path) -> dict[str, Any]:
    return yaml.safe_load((repo / "CITATION.cff").read_text(encoding="utf-8"))
