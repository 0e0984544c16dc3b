"""The release gate: reads everything that is to be published, and names the file and line of what must not be.

It looks for bodies of solutions (see `fingerprints`), hidden markers, reference functions printed or
imported, an instructor's files and the secret seed; in text, notebooks, HTML, zip files and answer keys.
"""

import argparse
import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.chapter.chapter import Chapter, stubs, text_of
from autograder.course.seed import secret_seed
from autograder.house import HOUSE, chapter_names, solution_modules
from autograder.release.fingerprints import Fingerprints
from check import judge
from check.calling import run
from check.key import Key

_NO_TEXT = frozenset({".png", ".jpg", ".gif", ".ico", ".woff", ".woff2", ".ttf", ".otf", ".eot", ".inv", ".pdf"})
_ZIPS = frozenset({".zip", ".epub", ".npz", ".whl"})
_ENCODED = frozenset({".html", ".htm", ".xhtml", ".ipynb", ".json", ".js", ".svg", ".xml"})
_PRIVATE_FILES = frozenset({"gradebook.db", "secret_seed", "nbgrader_config.py"})
_MARKER = re.compile(r"#+\s*(?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS|MARK SCHEME)|\"autograder\":\s*\{\s*\"stub\"")
_PRINTED = re.compile(r"(?:<|&lt;)function ([\w.]+) at 0x")
_IMPORTED = re.compile(r"\b(?:from|import)\s+solutions\.(\w+)|\bfrom\s+solutions\s+import\s+(\w+)")

# Two lines of a notebook's cell, as JSON writes them; joined, they still take up two lines.
_JSON_LINES = re.compile(r"\\n\",\s*\n\s*\"")
_JSON_ESCAPE = re.compile(r"\\(?:([ntr\"\\/])|u([0-9a-fA-F]{4}))")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_READ_ALOUD = re.compile(r"\s(?:alt|title|aria-label|content)=\"([^\"]*)\"")


@dataclass(frozen=True)
class Leak:
    """What was found, and where."""

    file: str
    line: int
    what: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Secrets:
    """What must not be published: solutions, by their bodies and by the modules not to import, and the secret seed.

    known: SHA-256 of files that are others' and hold nothing of ours, such as NumPy for the pages.
    """

    solutions: Fingerprints
    modules: frozenset[str] = frozenset()
    seed: int | None = None
    known: frozenset[str] = frozenset()


Seen = dict[tuple[bool, str], list[tuple[int, str]]]  # whether a text is encoded, the text -> line and leak


def secrets_of_bundle(chapter: Chapter, seed: int | None, house: Path = HOUSE) -> Secrets:
    """What the bundle of a chapter must keep: the solutions of this and of every later chapter, and the key's seed.

    The solutions of earlier chapters are no secret any more, and may well look like this chapter's.
    """
    solutions = solution_modules(house)
    earlier = [name for name, number in solutions.items() if number is None or number < chapter.number]
    return _secrets(solutions.keys() - set(earlier), earlier, seed, house)


def secrets_of_book(seed: int | None = None, house: Path = HOUSE) -> Secrets:
    """What the public book must keep: the solutions of every chapter. It may name their modules."""
    solutions = solution_modules(house)
    helpers = [name for name, number in solutions.items() if number is None]
    secrets = _secrets(solutions.keys() - set(helpers), helpers, seed, house)
    lock = house / "book" / "live" / "assets.json"
    others = json.loads(lock.read_text(encoding="utf-8"))["files"] if lock.exists() else []
    return replace(secrets, modules=frozenset(), known=frozenset(file["sha256"] for file in others))


def _secrets(secret, known, seed, house):
    def text(name):
        return (house / "solutions" / f"{name}.py").read_text(encoding="utf-8")

    public = [stub for name in chapter_names(house) for stub in stubs(text_of(name, house)).values()]
    sources = {f"solutions/{name}.py": text(name) for name in sorted(secret)}
    return Secrets(Fingerprints(sources, [*public, *map(text, known)]), frozenset(secret), seed)


def scan(paths: Iterable[Path], secrets: Secrets) -> list[Leak]:
    """Every leak in files and folders, zip files read from within, in the order of the files."""
    leaks = []
    seen: Seen = {}
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            name = file.relative_to(path.parent).as_posix()
            if file.is_symlink():
                leaks.append(Leak(name, 1, "a symbolic link"))
            elif file.is_file():
                leaks += scan_bytes(name, file.read_bytes(), secrets, seen)
    return leaks


def scan_book(folder: Path, seed: int | None = None, house: Path = HOUSE) -> list[Leak]:
    """Every leak in the built HTML book: pages, sources, search index, scripts."""
    return scan([folder], secrets_of_book(seed, house))


def scan_bytes(name: str, data: bytes, secrets: Secrets, seen: Seen | None = None) -> list[Leak]:
    """Every leak in one file, given by its name and content.

    seen: what was found in texts before, with the same secrets; filled as files are read. A bundle and its zip hold the
    same files, and keys the same arrays.
    """
    if secrets.known and hashlib.sha256(data).hexdigest() in secrets.known:
        return []
    seen = {} if seen is None else seen
    base, suffix = name.rpartition("/")[2], Path(name).suffix.lower()
    leaks = [Leak(name, 1, "a file of the instructor's")] if base in _PRIVATE_FILES else []
    if secrets.seed is not None and str(secrets.seed).encode() in data:
        leaks.append(Leak(name, 1, "the secret seed"))
    if suffix in _ZIPS:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in archive.namelist():
                leaks += scan_bytes(f"{name}/{inner}", archive.read(inner), secrets, seen)
    elif suffix not in _NO_TEXT:
        # NumPy stores text with four bytes a letter, three of them zero.
        text = data.replace(b"\0", b"").decode("utf-8", errors="replace")
        content = suffix in _ENCODED, text
        if content not in seen:
            seen[content] = sorted(set(_scan_text(text, suffix in _ENCODED, secrets)))
        leaks += [Leak(name, line, what) for line, what in seen[content]]
    return leaks


def _scan_text(text, encoded, secrets) -> Iterator[tuple[int, str]]:
    plain = readable(text) if encoded else text
    for body, line in secrets.solutions.find(plain):
        yield line, f"the body of {body.name}, from {body.file}"
    for version in dict.fromkeys((text, plain)):
        for match in _MARKER.finditer(version):
            yield _line(version, match), f"a hidden marker: {match[0]}"
        for match in _PRINTED.finditer(version):
            yield _line(version, match), f"an output that prints the function {match[1]}"
        for match in _IMPORTED.finditer(version):
            if (name := match[1] or match[2]) in secrets.modules:
                yield _line(version, match), f"an import of the solutions in solutions/{name}.py"


def _line(text, match):
    return text.count("\n", 0, match.start()) + 1


def readable(text: str) -> str:
    """The text that JSON and HTML encode, every piece on the line where it was."""
    text = _JSON_ESCAPE.sub(_unescape, _JSON_LINES.sub("\n", text))
    return html.unescape(_TAG.sub(_read_aloud, text))


def _unescape(escape):
    if escape[2]:
        return chr(int(escape[2], 16))
    # \v ends a line of code without counting as a line of the file.
    return {"n": "\v", "t": "\t", "r": ""}.get(escape[1], escape[1])


def _read_aloud(tag):
    return " ".join(_READ_ALOUD.findall(tag[0])) + "\n" * tag[0].count("\n")


def unsound(keys: Iterable[Key], source, released) -> list[str]:
    """What is wrong with a chapter's exercises: a stub that passes its check, a solution that does not.

    Args:
        keys: the public ones of its exercises.
        source, released: the notebook with solutions and the one without, as nbformat reads them.
    """
    problems, keys = [], list(keys)
    for notebook, solved in ((source, True), (released, False)):
        namespace = _run_exercises(notebook)
        for key in keys:
            result = judge.grade(key, [run(namespace[key.function], case.inputs) for case in key.cases])
            if solved and result.verdict:
                problems.append(f"{key.function}: the solution fails its check: {result.verdict.message}")
            if not solved and result.passed:
                problems.append(f"{key.function}: the stub passes its check")
    return problems


def _run_exercises(notebook):
    namespace: dict = {}
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution") or about.get("grade_id") == "setup":
            exec(compile(cell.source, f"<cell {about['grade_id']}>", "exec"), namespace)
    return namespace


def main(arguments: list[str] | None = None) -> int:
    """`python -m autograder.release.gate _build/html`: print what the built book gives away; 1 if it is anything."""
    parser = argparse.ArgumentParser(
        prog="autograder.release.gate", description="Read the built book for leaks of solutions."
    )
    parser.add_argument("book", type=Path, help="folder of the HTML book")
    parser.add_argument("--course", type=Path, default=Path("course"), metavar="DIR", help="course folder")
    options = parser.parse_args(arguments)
    seed = secret_seed(options.course) if (options.course / "secret_seed").exists() else None
    leaks = scan_book(options.book, seed)
    print("\n".join(map(str, leaks)) or f"{options.book} gives nothing away.")
    return 1 if leaks else 0


if __name__ == "__main__":
    raise SystemExit(main())
