"""What a student gets besides the notebook: answer keys, `check`, figures, earlier solutions, what to install."""

import ast
import os
import re
import tempfile
import time
import zipfile
from calendar import timegm
from collections.abc import Iterable
from pathlib import Path

import yaml

from autograder.chapter.chapter import Chapter
from autograder.chapter.sections import section_addresses
from autograder.house import HOUSE, solution_modules
from autograder.release.cell_needs import rests_on
from check import key
from check.bundle_data import Notebook
from check.key import Key

NEEDED = ("numpy", "matplotlib", "jupyterlab")
PINS = ("requirements.txt", "requirements-torch.txt")

README = """\
{title}
{underline}
1. Install what the notebook needs, in this folder (Python 3.11 or newer; `python3 --version` says yours):
     Linux, macOS:  python3 -m venv .venv ; .venv/bin/pip install -r requirements.txt
     Windows:       py -m venv .venv & .venv\\Scripts\\pip install -r requirements.txt
2. Open it:         .venv/bin/jupyter lab {name}.ipynb     (Windows: .venv\\Scripts\\jupyter)
3. Replace each `raise NotImplementedError`, run the cell, and press check(...) below it.
4. Where a check stays red, read again the section of the notebook that it names. The last cell says what is left.
5. Hand in the one file {name}.ipynb, under that name. Leave the locked cells as they are.
PyTorch is optional: a few cells compare with it, and say so where it is missing.
"""


def files(chapter: Chapter, keys: Iterable[Key], house: Path = HOUSE) -> dict[str, bytes]:
    """Path in the bundle -> content, for everything but the notebook; the same chapter gives the same bytes.

    keys: the public ones of its exercises.
    """
    shipped = modules(chapter, house)
    sources = [cell.source for cell in chapter.cells if cell.part in ("setup", "demo")]
    imported = {name for source in [*sources, *map(bytes.decode, shipped.values())] for name in _imports(source)}
    return {
        **{f"check/{file.name}": file.read_bytes() for file in sorted((HOUSE / "check").glob("*.py"))},
        **{f"check/keys/{public.function}.npz": _saved(public) for public in keys},
        f"check/chapters/{chapter.name}.json": about(chapter, house).to_json().encode(),
        **shipped,
        **{picture: (house / "chapters" / picture).read_bytes() for picture in chapter.pictures},
        **_data(sources, house),
        "requirements.txt": _requirements(_pins(house), imported).encode(),
        "README.txt": _readme(chapter).encode(),
    }


def about(chapter: Chapter, house: Path = HOUSE) -> Notebook:
    """What the bundle knows of a chapter's notebook."""
    exercises = list(chapter.stubs)
    return Notebook(exercises, rests_on(chapter.cells, exercises), section_addresses(chapter, house))


def modules(chapter: Chapter, house: Path = HOUSE) -> dict[str, bytes]:
    """The Python modules that a chapter's cells import, and the solutions of earlier chapters, with what they need."""
    solutions = solution_modules(house).items()
    waiting = [f"solutions.{name}" for name, number in solutions if number and number < chapter.number]
    for cell in chapter.cells:
        if cell.part in ("setup", "demo"):
            waiting += _imports(cell.source)
    found: dict[str, bytes] = {}
    while waiting:
        name = waiting.pop()
        path = f"{name.replace('.', '/')}.py"
        file = house / path if name.startswith("solutions.") else house / "chapters" / path
        if path not in found and file.exists():
            found[path] = file.read_bytes()
            waiting += _imports(found[path].decode())
    if any(path.startswith("solutions/") for path in found):
        found["solutions/__init__.py"] = (house / "solutions" / "__init__.py").read_bytes()
    return found


def write_zip(folder: Path, path: Path, house: Path = HOUSE) -> None:
    """Zip a folder's files, sorted and with one time for all, so that the same files give the same bytes."""
    date = time.gmtime(_moment(house))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), date)
                entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
                archive.writestr(entry, file.read_bytes())


def _moment(house):
    """Seconds since 1970: SOURCE_DATE_EPOCH if there is one, else the day that CITATION.cff says the course is of."""
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):  # https://reproducible-builds.org/specs/source-date-epoch/
        return max(int(epoch), timegm((1980, 1, 1, 0, 0, 0)))  # a zip file knows no earlier time
    citation = yaml.safe_load((house / "CITATION.cff").read_text(encoding="utf-8"))
    return timegm(citation["date-released"].timetuple())


def _imports(source):
    """Dotted names that a source imports, at its top or anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _saved(public):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key.npz"
        key.save(public, path)
        return path.read_bytes()


def _data(sources, house):
    """The .npz files that the cells name and that lie beside the chapters, such as a trained model."""
    named = {name for source in sources for name in re.findall(r"[\w-]+\.npz", source)}
    return {name: (house / "chapters" / name).read_bytes() for name in named if (house / "chapters" / name).exists()}


def _pins(house):
    """Package -> the version that the repository installs."""
    text = "".join((house / name).read_text(encoding="utf-8") for name in PINS)
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def _requirements(pinned, imported):
    wanted = [*NEEDED, *sorted(imported & set(pinned) - {*NEEDED, "torch"})]
    # An older Python is told of each line that it is too old, in place of all versions that pip has looked through.
    lines = [f'{name}=={pinned[name]} ; python_version >= "3.11"' for name in wanted]
    return "\n".join([*lines, f"# optional, for the cells that compare with PyTorch:\n# torch=={pinned['torch']}", ""])


def _readme(chapter):
    title = f"The Transformer by Hand: chapter {chapter.number}, {chapter.name.partition('_')[2]}"
    return README.format(title=title, underline="=" * len(title), name=chapter.name)
