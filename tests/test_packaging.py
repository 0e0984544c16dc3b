"""The imports of the code, the requirements in pyproject.toml and the pins in requirements.txt agree."""

import ast
import json
import platform
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import jupytext
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from autograder import version

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)
HUB = "autograder/hub/deploy"
PINS = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("requirements.txt", "requirements-torch.txt"))
CODE = ("autograder", "benchmarks", "book", "chapters", "solutions", "tests")
INSTALLED, OLDEST = platform.python_version(), PROJECT["tool"]["uv"]["pip"]["python-version"]


def listed():
    """Return every requirement of pyproject.toml as a string."""
    groups = [PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"].values()]
    return [entry for group in groups for entry in group if isinstance(entry, str)]


def declared():
    """Return name -> Requirement for every requirement of pyproject.toml."""
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, listed())}


def tools():
    """Return the names of the requirements whose comment says that they are a tool, so that no code imports them."""
    lines = re.findall(r'^ +"([^"\n]+)",  # tool: \S', PYPROJECT, re.MULTILINE)
    assert set(lines) <= set(listed())
    return {canonicalize_name(Requirement(line).name) for line in lines}


def pin_lines(text=PINS):
    """Return each pin as it is written, with its condition if it has one."""
    return re.findall(r"^([\w.-]+==.+) \\$", text, re.MULTILINE)


def pins(text=PINS, python=INSTALLED):
    """Return name -> version of the pins for a version of Python on this machine."""
    requirements = [Requirement(line) for line in pin_lines(text)]
    chosen = [pin for pin in requirements if not pin.marker or pin.marker.evaluate({"python_full_version": python})]
    assert len({pin.name for pin in chosen}) == len(chosen)
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in chosen}


def sources():
    """Yield (path from the root, Python source) of every module of ours and every code cell of every chapter."""
    paths = [ROOT / "nbgrader_config.py", *(path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py")))]
    yield from ((path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in paths)
    for path in sorted((ROOT / "chapters").glob("*.md")):
        cells = jupytext.read(path, fmt="md:myst").cells
        yield from ((path.relative_to(ROOT), cell.source) for cell in cells if cell.cell_type == "code")


@cache
def imports():
    """Return (path, its import statements) of all sources: parsing them takes two seconds."""
    statements = (ast.Import, ast.ImportFrom)
    return [
        (path, [node for node in ast.walk(ast.parse(source)) if isinstance(node, statements)])
        for path, source in sources()
    ]


@cache
def third_party(within=""):
    """Return the dotted name of each third-party module -> a file that imports it.

    Args:
        within: a file or folder; by default all our code, and _config.yml, whose extensions Sphinx imports.
    """
    roots = [*PROJECT["tool"]["pytest"]["ini_options"]["pythonpath"], HUB]
    modules = [path for root in roots for path in (ROOT / root).iterdir() if path.is_dir() or path.suffix == ".py"]
    ours = {path.stem for path in modules}
    importers = {}
    for path, statements in imports():
        for node in statements if path.is_relative_to(within) else ():
            if isinstance(node, ast.Import):
                importers |= {alias.name: path for alias in node.names}
            elif node.level == 0:
                importers[node.module] = path
    if not within:
        config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        importers |= dict.fromkeys(config["sphinx"]["config"]["extensions"], Path("_config.yml"))
    return {name: path for name, path in importers.items() if name.split(".")[0] not in ours | sys.stdlib_module_names}


@cache
def distributions():
    """Return the dotted name of each third-party module -> the names of the distributions that may contain it."""
    by_package = metadata.packages_distributions()
    distributions = {}
    for name in third_party():
        names = {canonicalize_name(distribution) for distribution in by_package.get(name.split(".")[0], ())}
        # Several distributions share a namespace such as `sphinxcontrib`. Their names begin with that of their module.
        distributions[name] = names if len(names) == 1 else names & {canonicalize_name(".".join(name.split(".")[:2]))}
    return distributions


def needed():
    """Return the names of the declared requirements, of their requirements, and so on."""
    waiting, done = list(declared().values()), set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in done:
            continue
        done.add(key)
        further = [Requirement(line) for line in metadata.requires(requirement.name) or ()]
        if requirement.name == "torch":  # we pin the CPU build; the installed build may be the one for CUDA
            further = [needed for needed in further if canonicalize_name(needed.name) in pins()]
        extras = requirement.extras or {""}
        waiting += [
            needed
            for needed in further
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras)
        ]
    return {name for name, _ in done}


def only_with_a_hub():
    """Return the top-level module of each package in the extra `hub` -> its Requirement. Comments name the modules."""
    lines = re.findall(r'^ +"([^"\n]+)",  # import (\w+)$', PYPROJECT, re.MULTILINE)
    assert [line for line, _ in lines] == PROJECT["project"]["optional-dependencies"]["hub"]
    return {module: Requirement(line) for line, module in lines}


def test_every_import_belongs_to_a_declared_requirement():
    files = third_party()
    undeclared = {name: str(files[name]) for name, names in distributions().items() if not names & set(declared())}
    assert {name: file for name, file in undeclared.items() if name.split(".")[0] not in only_with_a_hub()} == {}


def test_only_the_room_of_the_hub_imports_what_only_a_hub_needs():
    """The core works without them; `make` installs only those that nbgrader and JupyterLab need too."""
    importers = {
        (name.split(".")[0], str(path))
        for path, statements in imports()
        for node in statements
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        if name.split(".")[0] in only_with_a_hub()
    }
    assert {module for module, _ in importers} == set(only_with_a_hub())
    elsewhere = [path for _, path in importers if not path.startswith(("autograder/hub/", "tests/autograder/hub/"))]
    assert elsewhere == []


def test_imports_of_the_installed_code_are_dependencies_and_not_only_in_a_group():
    shared = PROJECT["tool"]["setuptools"]["py-modules"]
    installed = ["autograder", "solutions", *(f"chapters/{module}.py" for module in shared)]
    required = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
    modules = {name for path in installed for name in third_party(path)}
    others = {name.split(".")[0] for name in modules if not distributions()[name] & required}
    assert others - set(only_with_a_hub()) == set()


def test_every_declared_requirement_is_imported_or_marked_as_a_tool():
    imported = set().union(*distributions().values())
    assert set(declared()) - tools() - imported == set()
    assert tools() & imported == set()


@pytest.mark.parametrize("python", [OLDEST, "3.12", "3.13", "3.14"])
def test_every_declared_requirement_is_pinned_within_its_bounds(python):
    versions = {name: pins(python=python).get(name, "") for name in declared()}
    assert {name: version for name, version in versions.items() if version not in declared()[name].specifier} == {}
    assert str(declared()["torch"].specifier) == f"=={pins()['torch']}"
    assert {entry["name"]: entry["version"] for entry in PROJECT["tool"]["uv"]["dependency-metadata"]} == {
        "torch": pins()["torch"]
    }


def test_the_pins_are_exactly_the_requirements_of_requirements():
    assert set(pins()) == needed()


@pytest.mark.parametrize("python", [OLDEST, "3.13"])
def test_the_hub_and_the_grader_pin_the_same_versions(python):
    hub, ours = (pins(text, python) for text in ((ROOT / HUB / "requirements.txt").read_text(encoding="utf-8"), PINS))
    assert {"jupyterhub", "nbgrader", "numpy"} <= set(hub) and "jupyterhub" not in ours
    assert {name: hub[name] for name in hub.keys() & ours.keys() if hub[name] != ours[name]} == {}


def test_a_hub_gets_exactly_the_packages_of_the_extra_and_what_students_work_with():
    wanted = re.findall(r"^[a-z].*", (ROOT / HUB / "requirements.in").read_text(encoding="utf-8"), re.MULTILINE)
    extra = {
        requirement.name + "[crypto]" * bool(requirement.extras): requirement.specifier
        for requirement in only_with_a_hub().values()
    }
    assert set(wanted) == {*extra, "jupyterlab", "matplotlib", "nbgrader", "numpy"}
    hub = pins((ROOT / HUB / "requirements.txt").read_text(encoding="utf-8"))
    assert [name for name, bounds in extra.items() if hub[name.split("[")[0]] not in bounds] == []


def test_the_installed_versions_are_the_pinned_ones():
    installed = {name: Version(metadata.version(name)).public for name in pins()}
    assert installed == pins()


def test_the_pins_and_the_contributors_guide_name_the_command_that_makes_the_pins():
    command = re.search(r"^#    (uv pip compile .*)$", PINS, re.MULTILINE)[1]
    assert command.endswith("-o requirements.txt")
    assert command in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_pin_has_hashes():
    """pip checks them."""
    assert re.findall(r"^([\w.-]+==.+) \\\n +--hash=sha256:[0-9a-f]{64}", PINS, re.MULTILINE) == pin_lines()


def test_make_splits_the_pins_without_losing_any(tmp_path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    program = re.search(r"^\tawk '(.+)' \$<$", makefile, re.MULTILINE)[1]
    (tmp_path / ".venv").mkdir()
    subprocess.run(["awk", program, ROOT / "requirements.txt"], cwd=tmp_path, check=True)
    parts = [part.read_text(encoding="utf-8") for part in sorted((tmp_path / ".venv").iterdir())]
    assert len(parts) == 2 and all(f".venv/pins-{half}" in makefile for half in (0, 1))
    installed = "".join([*parts, (ROOT / "requirements-torch.txt").read_text(encoding="utf-8")])
    assert set(pin_lines(installed)) == set(pin_lines())
    assert installed.count("--hash=sha256:") == PINS.count("--hash=sha256:")


def test_the_build_requirements_are_pinned():
    assert "--no-build-isolation" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {canonicalize_name(Requirement(line).name) for line in PROJECT["build-system"]["requires"]} <= set(pins())


def test_the_project_the_citation_and_the_changelog_name_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)[1]
    assert {citation["version"], newest} == {PROJECT["project"]["version"]} == {version.version()}


@pytest.mark.parametrize("audience", ["readers", "students", "instructors", "contributors"])
def test_a_release_lists_a_change_for_each_audience(tmp_path, audience):
    settings = tomllib.loads(PYPROJECT)["tool"]["towncrier"]
    assert audience in {kind["directory"] for kind in settings["type"]}
    (tmp_path / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / settings["directory"]).mkdir()
    (tmp_path / settings["directory"] / f"+one.{audience}.md").write_text("Softmax is shifted.", encoding="utf-8")
    release = ("build", "--yes", "--version", "9.8.7", "--date", "2031-01-02")
    command = (sys.executable, "-m", "towncrier", *release, "--dir", str(tmp_path))
    subprocess.run(command, check=True, capture_output=True)
    changelog = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [9.8.7] - 2031-01-02\n\n### For {audience}\n\n- Softmax is shifted.\n" in changelog
    assert changelog.index("[9.8.7]") < changelog.index("[2.0.0]")


def test_every_change_of_the_next_release_has_an_audience():
    settings = PROJECT["tool"]["towncrier"]
    audiences = "|".join(kind["directory"] for kind in settings["type"])
    files = [file.name for file in (ROOT / settings["directory"]).iterdir() if file.name != ".gitignore"]
    assert [name for name in files if not re.fullmatch(rf"\+[\w-]+\.({audiences})\.md", name)] == []


# -------------------------------------------------------------------------------------------- containers


def test_the_container_has_the_python_of_the_pins_and_runs_make():
    lines = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").splitlines()
    base = next(line for line in lines if line.startswith("FROM"))
    python = rf"FROM docker\.io/library/python:{OLDEST}\.\d+-slim-bookworm@sha256:[0-9a-f]{{64}}"
    assert re.fullmatch(python, base)
    assert [line for line in lines if line.startswith(("RUN make", "CMD"))] == ["RUN make setup", 'CMD ["make"]']
    opened = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / ".devcontainer" / opened["build"]["dockerfile"]).resolve() == ROOT / "deploy" / "Containerfile"


def test_no_image_contains_files_that_git_ignores():
    """Above all, no image may contain a course with its seed, its submissions and its gradebook."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()}
    left_out = set((ROOT / ".dockerignore").read_text(encoding="utf-8").split())
    assert {"course", "example", ".venv"} <= ignored
    missing = [name for name in ignored if not {name, f"**/{name}"} & left_out]
    assert missing == []


def test_make_rejects_an_older_python_in_one_sentence():
    recipe = re.search(r"^\t\$\(PYTHON\) -c '([^']+)'$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[
        1
    ]
    for python, sentences in (((3, 10, 13), 1), ((3, 11, 0), 0), ((3, 12, 1), 0)):
        old = f"import sys; sys.version_info = {python}; {recipe}"
        done = subprocess.run([sys.executable, "-Sc", old], capture_output=True, text=True)
        assert done.returncode == sentences and done.stdout == ""
        assert done.stderr.count("\n") == done.stderr.count("needs Python 3.11 or newer; this is 3.10.") == sentences
    ast.parse(recipe, feature_version=(3, 6))
