"""Every version of Python, Node or a package that a file names is the one that the locks name."""

import json
import re
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.autograder
ROOT = Path(__file__).resolve().parent.parent
# The changelog is history, tests need other versions too, and the locks are what everything is compared with.
LEFT_OUT = re.compile(
    r"CHANGELOG.md|tests/|solutions/|book/static/mathjax/t|book/live/codemirror/codemirror.js$|.*lock\.json|"
    r".*requirements[^/]*\.txt|.*/python-PSF\.txt|.*\.(png|npz|zip|gz|woff2?)$"
)
PYTHON = re.compile(r"(?<!new in )python(?:[_-]version)?\W{0,6}(3\.\d+)(?: to (3\.\d+))?", re.IGNORECASE)
PAGES_PYTHON = re.compile(r"-cp3(\d+)-")  # the version of Python in the name of a wheel of Pyodide
NODE = re.compile(r"\bNode (\d+)")
TUPLE = re.compile(r"version_info < \(3, (\d+)\)|v >= \(3, (\d+)\)")
PACKAGE = re.compile(r"(?<![\w/-])(?<!since )(?:([A-Z][a-z]+) )?(@?[\w/-]*[A-Za-z][\w-]*)(?:==|@| )v?(\d+(?:\.\d+)+)")
PIN = r"^([\w.-]+)==([\w.]+)"
OTHER_NAMES = {"pytorch": "torch", "mathjax": "mathjax-full"}


def texts():
    """Return path -> text of all files of the repository that may name a version."""
    paths = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = [path for path in paths if not LEFT_OUT.match(path) and (ROOT / path).is_file()]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}


def locked():
    """Return name -> versions of the packages that we name ourselves, and of everything that pip installs."""
    versions = defaultdict(set)
    for folder in ("book/formulas", "book/live/codemirror", "autograder/hub/deploy"):
        lock = json.loads((ROOT / folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
        ours = lock[""].get("dependencies", {}) | lock[""].get("devDependencies", {})
        versions |= {name: {lock[f"node_modules/{name}"]["version"]} for name in ours}
    for file in ("autograder/hub/deploy/requirements.txt", "requirements-torch.txt", "requirements.txt"):
        for name, version in re.findall(PIN, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE):
            versions[name].add(version)  # some packages have two: one for the oldest Python, one for newer ones
    return versions


def python_range():
    """Return the oldest Python, which the pins are for, and the newest that a workflow tries."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["tool"]["uv"]["pip"]["python-version"]
    assert project["project"]["requires-python"] == f">={oldest}"
    pythons = workflow_pythons("students", "bundle")
    assert pythons[0] == oldest
    return oldest, pythons[-1]


def workflow_pythons(workflow, job):
    """Return the versions of Python with which a job of a workflow runs."""
    jobs = yaml.safe_load((ROOT / f".github/workflows/{workflow}.yml").read_text(encoding="utf-8"))["jobs"]
    return jobs[job]["strategy"]["matrix"]["python"]


def pages_pythons():
    """Return the versions of Python that the wheels for the pages are built for."""
    text = (ROOT / "book/live/assets.json").read_text(encoding="utf-8")
    return {f"3.{minor}" for minor in PAGES_PYTHON.findall(text)}


def wrong_pythons(text, oldest, newest, others=()):
    """Return the versions of Python in a text that are neither the oldest nor the newest, nor among the others."""
    first = (oldest, newest, *others)
    found = [match for pair in PYTHON.findall(text) for match in zip(pair, (first, (newest,)), strict=True)]
    found += [(f"3.{old or new}", (oldest,)) for old, new in TUPLE.findall(text)]
    return [version for version, right in found if version and version not in right]


def wrong_packages(text, versions):
    """Return the packages in a text whose version is not a locked one, or its beginning."""
    wrong = []
    for word, name, version in PACKAGE.findall(text):
        name = name if name.startswith("@") else canonicalize_name(name)
        names = [f"{word.lower()}-{name}", OTHER_NAMES.get(name, name)]
        pins = next((versions[name] for name in names if name in versions), {version})
        wrong += [f"{name} {version}"] * (not any(f"{pin}.".startswith(f"{version}.") for pin in pins))
    return wrong


def all_wrong_pythons(oldest, newest):
    """Return path -> wrong versions of Python. Files about the pages may also name the Python of the pages."""
    pages = pages_pythons()
    wrong = {
        path: wrong_pythons(text, oldest, newest, pages if path.startswith("book/live/") else ())
        for path, text in texts().items()
    }
    return {path: versions for path, versions in wrong.items() if versions}


def test_every_python_in_a_file_is_the_oldest_or_the_newest():
    assert all_wrong_pythons(*python_range()) == {}


@pytest.mark.parametrize("page", ["README.md", "chapters/operating.md"])
def test_a_page_claims_the_pythons_that_the_workflows_run(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    tested, (oldest, newest) = workflow_pythons("tests", "everything"), python_range()
    assert f"We run all tests with Python {' and '.join(tested)}." in text
    assert f"Python {oldest} to {newest}" in text


def test_a_newer_python_changes_no_file_that_names_the_python_of_the_pages():
    """Otherwise the newest Python could not be raised before Pyodide has it."""
    (python,) = pages_pythons()
    oldest, newest = python_range()
    newer = f"3.{max(int(version.removeprefix('3.')) for version in (python, newest)) + 1}"
    wrong = all_wrong_pythons(oldest, newer)
    assert wrong  # the files that name the newest Python
    assert not [path for path in wrong if path.startswith("book/live/")]


def test_every_version_of_a_package_in_a_file_is_the_locked_one():
    versions = locked()
    wrong = {path: wrong_packages(text, versions) for path, text in texts().items()}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_the_searches_find_other_versions():
    text = "Python 3.10 to 3.15, python3.9, python_version >= \"3.8\", 'python-3.11', sys.version_info < (3, 10)"
    assert wrong_pythons(text, "3.11", "3.14") == ["3.10", "3.15", "3.9", "3.8", "3.10"]
    versions = {"numpy": {"2.4.6", "2.5.5"}, "jupyter-server": {"2.21.1"}, "mathjax-full": {"3.2.2"}}
    text = "numpy==2.4.5, NumPy 2.4, NumPy 2.5.5, with Jupyter Server 2.2, MathJax 3.2, mathjax@3.2.1"
    assert wrong_packages(text, versions) == ["numpy 2.4.5", "server 2.2", "mathjax 3.2.1"]


def test_the_workflows_use_one_version_of_each_action_and_the_oldest_python():
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / ".github/workflows").glob("*.yml")))
    uses = set(re.findall(r"uses: (\S+)@(\w{40} # v[\d.]+)$", text, re.MULTILINE))
    assert len(uses) == len(dict(uses)) > 5
    assert set(re.findall(r'python-version: "(.+)"', text)) == {python_range()[0]}


def test_the_python_of_the_pages_fits_their_wheels():
    (python,) = re.findall(r'"python": "(3\.\d+)\.', (ROOT / "book/live/assets.py").read_text(encoding="utf-8"))
    (library,) = re.findall(r"lib/python(3\.\d+)/", (ROOT / "book/live/bytecode/stored.py").read_text(encoding="utf-8"))
    assert pages_pythons() == {python} == {library}


def test_every_file_names_the_same_oldest_node():
    versions = {path: set(NODE.findall(text)) for path, text in texts().items() if NODE.search(text)}
    assert len(versions) > 5
    assert len(set().union(*versions.values())) == 1, versions
