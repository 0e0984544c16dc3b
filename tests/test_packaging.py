"""What the code imports, what pyproject.toml declares and what requirements.txt pins: three lists that must agree."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import jupytext
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)
PINS = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("requirements.txt", "requirements-torch.txt"))
CODE = ("autograder", "benchmarks", "book", "chapters", "deploy", "solutions", "tests")
# What the pins are made for; a marker asks for other packages elsewhere.
PINNED_FOR = {
    "python_version": "3.11",
    "python_full_version": "3.11.0",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
}


def listed():
    """Every requirement of pyproject.toml, as it is written."""
    groups = [PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"].values()]
    return [entry for group in groups for entry in group if isinstance(entry, str)]


def declared():
    """Name -> Requirement."""
    return {canonicalize_name(each.name): each for each in map(Requirement, listed())}


def tools():
    """Names of the requirements whose comment says that they are a tool, which is to say that nothing imports them."""
    lines = re.findall(r'^ +"([^"\n]+)",  # tool: \S', PYPROJECT, re.MULTILINE)
    assert set(lines) <= set(listed())
    return {canonicalize_name(Requirement(line).name) for line in lines}


def pins(text=PINS):
    """Name -> version."""
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def sources():
    """(Path from the root, Python source) of every module of ours, and of every code cell of every chapter."""
    paths = [ROOT / "nbgrader_config.py", *(path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py")))]
    yield from ((path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in paths)
    for path in sorted((ROOT / "chapters").glob("*.md")):
        cells = jupytext.read(path, fmt="md:myst").cells
        yield from ((path.relative_to(ROOT), cell.source) for cell in cells if cell.cell_type == "code")


@cache
def third_party(within=""):
    """Dotted name of each module from elsewhere -> a file that imports it.

    Args:
        within: a file or folder; by default all that is ours, and _config.yml, whose extensions Sphinx imports.
    """
    roots = [*PROJECT["tool"]["pytest"]["ini_options"]["pythonpath"], "deploy"]
    modules = [path for root in roots for path in (ROOT / root).iterdir() if path.is_dir() or path.suffix == ".py"]
    ours = {path.stem for path in modules}
    found = {}
    for path, source in sources():
        if not path.is_relative_to(within):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found |= {alias.name: path for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found[node.module] = path
    if not within:
        config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        found |= dict.fromkeys(config["sphinx"]["config"]["extensions"], Path("_config.yml"))
    return {name: path for name, path in found.items() if name.split(".")[0] not in ours | sys.stdlib_module_names}


@cache
def distributions():
    """Dotted name of each module from elsewhere -> the names of the distributions that may hold it."""
    holders = metadata.packages_distributions()
    found = {}
    for name in third_party():
        names = {canonicalize_name(holder) for holder in holders.get(name.split(".")[0], ())}
        # Several distributions share a namespace such as `sphinxcontrib`, and are named after their part of it.
        found[name] = names if len(names) == 1 else names & {canonicalize_name(".".join(name.split(".")[:2]))}
    return found


def needed():
    """Names of all that the declared requirements ask for, and of all that those ask for in turn."""
    environment = default_environment() | PINNED_FOR
    waiting, done = list(declared().values()), set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in done:
            continue
        done.add(key)
        asked = [Requirement(line) for line in metadata.requires(requirement.name) or ()]
        if requirement.name == "torch":  # its CUDA build, which some index may have brought, is not what is pinned
            asked = [each for each in asked if canonicalize_name(each.name) in pins()]
        extras = requirement.extras or {""}
        waiting += [
            each
            for each in asked
            if each.marker is None or any(each.marker.evaluate(environment | {"extra": extra}) for extra in extras)
        ]
    return {name for name, _ in done}


def test_every_import_belongs_to_a_declared_requirement():
    files = third_party()
    astray = {name: str(files[name]) for name, holders in distributions().items() if not holders & set(declared())}
    assert astray == {}


def test_what_the_installed_code_imports_is_no_mere_group():
    shared = PROJECT["tool"]["setuptools"]["py-modules"]
    installed = ["autograder", "solutions", *(f"chapters/{module}.py" for module in shared)]
    required = {canonicalize_name(Requirement(each).name) for each in PROJECT["project"]["dependencies"]}
    modules = {name for path in installed for name in third_party(path)}
    assert {name for name in modules if not distributions()[name] & required} == set()


def test_every_declared_requirement_is_imported_or_says_what_it_is_a_tool_for():
    imported = set().union(*distributions().values())
    assert set(declared()) - tools() - imported == set()
    assert tools() & imported == set()


def test_every_declared_requirement_is_pinned_within_its_bounds():
    wrong = {name: pins().get(name) for name, each in declared().items() if pins().get(name, "") not in each.specifier}
    assert wrong == {}
    assert str(declared()["torch"].specifier) == f"=={pins()['torch']}"


def test_the_pins_are_all_that_is_needed_and_nothing_else():
    assert set(pins()) == needed()


def test_a_hub_and_grading_have_the_same_versions():
    hub = pins((ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8"))
    assert {"jupyterhub", "nbgrader", "numpy"} <= set(hub) and "jupyterhub" not in pins()
    assert {name: hub[name] for name in hub.keys() & pins().keys() if hub[name] != pins()[name]} == {}


def test_what_is_installed_is_what_is_pinned():
    installed = {name: Version(metadata.version(name)).public for name in pins()}
    assert installed == pins()


def test_the_pins_say_how_they_are_made_and_so_does_the_guide_for_contributors():
    command = re.search(r"^#    (uv pip compile .*)$", PINS, re.MULTILINE)[1]
    assert command.endswith("-o requirements.txt")
    assert command in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_pin_has_hashes_and_no_condition():
    """pip checks the hashes; `make` splits the lists itself, and would not see a condition."""
    assert set(re.findall(r"^([\w.-]+)==[\w.]+ \\\n +--hash=sha256:[0-9a-f]{64}", PINS, re.MULTILINE)) == set(pins())
    assert ";" not in PINS


def test_make_splits_the_pins_and_loses_none(tmp_path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    program = re.search(r"^\tawk '(.+)' \$<$", makefile, re.MULTILINE)[1]
    (tmp_path / ".venv").mkdir()
    subprocess.run(["awk", program, ROOT / "requirements.txt"], cwd=tmp_path, check=True)
    parts = [part.read_text(encoding="utf-8") for part in sorted((tmp_path / ".venv").iterdir())]
    assert len(parts) == 2 and all(f".venv/pins-{half}" in makefile for half in (0, 1))
    installed = "".join([*parts, (ROOT / "requirements-torch.txt").read_text(encoding="utf-8")])
    assert pins(installed) == pins() and installed.count("--hash=sha256:") == PINS.count("--hash=sha256:")


def test_make_pins_what_the_project_is_built_with():
    assert "--no-build-isolation" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {canonicalize_name(Requirement(each).name) for each in PROJECT["build-system"]["requires"]} <= set(pins())


def test_the_project_the_book_the_citation_and_the_changelog_name_one_version():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)[1]
    assert {config["sphinx"]["config"]["version"], citation["version"], newest} == {PROJECT["project"]["version"]}


# -------------------------------------------------------------------------------------------- containers


def test_the_container_is_the_python_of_the_pins_and_runs_make():
    lines = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").splitlines()
    base = next(line for line in lines if line.startswith("FROM"))
    python = rf"FROM docker\.io/library/python:{PINNED_FOR['python_version']}\.\d+-slim-bookworm@sha256:[0-9a-f]{{64}}"
    assert re.fullmatch(python, base)
    assert [line for line in lines if line.startswith(("RUN make", "CMD"))] == ["RUN make setup", 'CMD ["make"]']
    opened = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / ".devcontainer" / opened["build"]["dockerfile"]).resolve() == ROOT / "deploy" / "Containerfile"


def test_no_image_holds_what_git_does_not():
    """Above all no course: its seed, its submissions, its gradebook."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()}
    left_out = set((ROOT / ".dockerignore").read_text(encoding="utf-8").split())
    assert {"course", "example", ".venv"} <= ignored
    missing = [name for name in ignored if not {name, f"**/{name}"} & left_out]
    assert missing == []


def test_make_tells_an_older_python_in_one_sentence():
    recipe = re.search(r"^\t\$\(PYTHON\) -c '([^']+)'$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[
        1
    ]
    for version, sentences in (((3, 10, 13), 1), ((3, 11, 0), 0), ((3, 12, 1), 0)):
        old = f"import sys; sys.version_info = {version}; {recipe}"
        done = subprocess.run([sys.executable, "-Sc", old], capture_output=True, text=True)
        assert done.returncode == sentences and done.stdout == ""
        assert done.stderr.count("\n") == done.stderr.count("needs Python 3.11 or newer; this is 3.10.") == sentences
    ast.parse(recipe, feature_version=(3, 6))
