"""The bundles' packages have wheels for every Python and system of students, as `wheels.py` has recorded."""

import json
import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from autograder.layout import REPO
from tests.autograder.release.wheels import PYTHONS, RECORD, SYSTEMS, requirements

pytestmark = pytest.mark.release
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_record_is_about_the_bundles_requirements():
    """After a change of a pin, run `python -m tests.autograder.release.wheels`."""
    assert requirements().splitlines() == RECORDED["requirements"]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_recorded_versions_are_those_that_a_bundle_asks_for(python):
    lines = [Requirement(line) for line in RECORDED["requirements"] if not line.startswith("#")]
    environment = {"python_version": python, "python_full_version": python}
    wanted = {line.name: line.specifier for line in lines if line.marker.evaluate(environment)}
    for system in SYSTEMS:
        found = dict(re.findall(r"([\w.-]+)==([\w.]+)", RECORDED["answers"][f"{python} {system}"]))
        assert found.keys() == wanted.keys()
        assert {name: version for name, version in found.items() if version not in wanted[name]} == {}


def test_the_workflow_tries_the_bundle_with_the_recorded_pythons():
    students = yaml.safe_load(Path(REPO, ".github/workflows/students.yml").read_text(encoding="utf-8"))
    assert students["jobs"]["bundle"]["strategy"]["matrix"]["python"] == list(PYTHONS)
