"""The release gate: search everything that will be published for leaks, and name the file and line of each.

A leak is the body of a solution (see `secret_bodies`), an answer for instructors, a hidden marker, a reference function
that is printed or imported, an instructor's file or the secret seed. The gate reads text, notebooks, HTML, zip files
and answer keys.
"""

import argparse
import hashlib
import html
import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.chapter.chapter import Chapter, given_functions, stubs, text_of
from autograder.course.seed import secret_seed
from autograder.errors import UserError
from autograder.layout import REPO, chapter_names, solution_modules
from autograder.release.lending import configured_choice, last_lent_chapter, lent_files, lent_sources, sentence
from autograder.release.secret_bodies import SecretBodies

_NO_TEXT = frozenset({".png", ".jpg", ".gif", ".ico", ".woff", ".woff2", ".ttf", ".otf", ".eot", ".inv", ".pdf"})
_NUMBERS = re.compile(rb"\x93NUMPY.{4,8}\{'descr': '[<>|][bcf]\d+'", re.DOTALL)  # a file of NumPy that holds no text
_ZIPS = frozenset({".zip", ".epub", ".npz", ".whl"})
_ENCODED = frozenset({".html", ".htm", ".xhtml", ".ipynb", ".json", ".js", ".svg", ".xml"})
_PRIVATE_FILES = frozenset({"gradebook.db", "lti_key.pem", "secret_seed", "nbgrader_config.py"})
_MARKER = re.compile(
    r"#+\s*(?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS|MARK SCHEME)|\"autograder\":\s*\{\s*\"stub\""
    r"|Answers for instructors: do not publish"  # the title of instructors/answers.md
)
_PRINTED = re.compile(r"(?:<|&lt;)function ([\w.]+) at 0x")
_IMPORTED = re.compile(r"\b(?:from|import)\s+solutions\.(\w+)|\bfrom\s+solutions\s+import\s+(\w+)")

# The end of one line of a notebook's cell and the start of the next, as JSON writes them.
_JSON_LINES = re.compile(r"\\n\",\s*\n\s*\"")
_JSON_ESCAPE = re.compile(r"\\(?:([ntr\"\\/])|u([0-9a-fA-F]{4}))")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_ATTRIBUTE_TEXT = re.compile(r"\s(?:alt|title|aria-label|content)=\"([^\"]*)\"")


@dataclass(frozen=True)
class Leak:
    """Something that must not be published, and where it is."""

    file: str
    line: int
    description: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.description}"


@dataclass(frozen=True)
class Secrets:
    """What must not be published: the bodies of solutions, imports of their modules, answers, and the secret seed.

    answers: a pattern for each answer in instructors/answers.md.
    harmless: SHA-256 of third-party files, such as NumPy for the pages, and of the solutions that the book lends, and
        the `content_digest` of zip files that the build makes from some of them.
    """

    solutions: SecretBodies
    modules: frozenset[str] = frozenset()
    answers: tuple[re.Pattern[str], ...] = ()
    seed: int | None = None
    harmless: frozenset[str] = frozenset()


# The line and the description of each leak in texts that were scanned before; a text's key says whether it is encoded.
Scanned = dict[tuple[bool, str], list[tuple[int, str]]]


def secrets_of_bundle(chapter: Chapter, seed: int | None, repo: Path = REPO) -> Secrets:
    """Return what a chapter's bundle must not give away: the solutions of this and all later chapters, and the seed.

    The solutions of earlier chapters are public by then, and may look like this chapter's.
    """
    solutions = solution_modules(repo)
    earlier = [name for name, number in solutions.items() if number is None or number < chapter.number]
    return _secrets(solutions.keys() - set(earlier), earlier, seed, repo)


def secrets_of_book(seed: int | None = None, repo: Path = REPO, last_lent: int = 0) -> Secrets:
    """Return what the public book must not give away: the solutions of all chapters. It may name their modules.

    last_lent: number of the last chapter whose solutions the book lends. It may do so in the files of `lent_files`
        and `lent_sources`.
    """
    solutions = solution_modules(repo)
    helpers = [name for name, number in solutions.items() if number is None]
    secrets = _secrets(solutions.keys() - set(helpers), helpers, seed, repo)
    harmless = _third_party_digests(repo / "book" / "live")
    lent = (*lent_files(last_lent, repo).values(), lent_sources(last_lent, repo))
    harmless |= {hashlib.sha256(content).hexdigest() for content in lent}
    return replace(secrets, modules=frozenset(), harmless=frozenset(harmless))


def _third_party_digests(live: Path) -> set[str]:
    """Return the digests of the third-party files that pages load. live: the folder `book/live`; it may be absent."""
    assets, bytecode = (
        json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        for file in (live / "assets.json", live / "bytecode" / "stored.json")
    )
    files = {file["sha256"] for file in assets.get("files", ())}
    return files | set(bytecode.get("divided", {}).values())


def _secrets(secret: Collection[str], public: Iterable[str], seed: int | None, repo: Path) -> Secrets:
    """Return the secrets, given the names of the secret and of the public modules of solutions/."""

    def source(name: str) -> str:
        return (repo / "solutions" / f"{name}.py").read_text(encoding="utf-8")

    texts = [text_of(name, repo) for name in chapter_names(repo)]
    shown = [cell for text in texts for cell in (*stubs(text).values(), *given_functions(text).values())]
    sources = {f"solutions/{name}.py": source(name) for name in sorted(secret)}
    bodies = SecretBodies(sources, [*shown, *map(source, public)])
    return Secrets(bodies, frozenset(secret), answer_patterns(repo), seed)


def answer_patterns(repo: Path = REPO) -> tuple[re.Pattern[str], ...]:
    """Return a pattern for the longest sentence of each of the instructors' answers, wherever its lines break."""
    file = repo / "instructors" / "answers.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    _, *answers = re.split(r"^\*\*\d+\.\*\* ", text, flags=re.MULTILINE)
    sentences = [max(re.split(r"(?<=\.)\s+", answer), key=len) for answer in answers]
    return tuple(re.compile(r"\s+".join(map(re.escape, sentence.split()))) for sentence in sentences)


def scan(paths: Iterable[Path], secrets: Secrets) -> list[Leak]:
    """Return every leak in files and folders, including those inside zip files, in the order of the files.

    Raises UserError if a path does not exist.
    """
    leaks = []
    scanned: Scanned = {}
    for path in paths:
        if not os.path.lexists(path):  # a broken symbolic link exists, and is a leak
            raise UserError(f"{path}: there is no such file or folder, so nothing was searched for leaks")
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            name = file.relative_to(path.parent).as_posix()
            if file.is_symlink():
                leaks.append(Leak(name, 1, "a symbolic link"))
            elif file.is_file():
                leaks += scan_bytes(name, file.read_bytes(), secrets, scanned)
    return leaks


def scan_book(book: Path, seed: int | None = None, repo: Path = REPO, last_lent: int = 0) -> list[Leak]:
    """Return every leak in the built book, a folder of HTML pages or an EPUB file. Raises UserError."""
    return scan([book], secrets_of_book(seed, repo, last_lent))


def scan_bytes(name: str, data: bytes, secrets: Secrets, scanned: Scanned | None = None) -> list[Leak]:
    """Return every leak in one file, given its name and content.

    scanned: a cache for scans with the same secrets; this function fills it. It saves time because a bundle and its zip
    file have the same files, and many answer keys have the same arrays.
    """
    if secrets.harmless and hashlib.sha256(data).hexdigest() in secrets.harmless:
        return []
    scanned = {} if scanned is None else scanned
    base, suffix = name.rpartition("/")[2], Path(name).suffix.lower()
    leaks = [Leak(name, 1, "an instructor's file")] if base in _PRIVATE_FILES else []
    if secrets.seed is not None and str(secrets.seed).encode() in data:
        leaks.append(Leak(name, 1, "the secret seed"))
    if suffix in _ZIPS:
        if secrets.harmless and content_digest(data) in secrets.harmless:
            return leaks
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in archive.namelist():
                leaks += scan_bytes(f"{name}/{inner}", archive.read(inner), secrets, scanned)
    elif suffix not in _NO_TEXT and not _NUMBERS.match(data):
        # NumPy stores text with four bytes per character, three of them usually zero.
        text = data.replace(b"\0", b"").decode("utf-8", errors="replace")
        content = suffix in _ENCODED, text
        if content not in scanned:
            scanned[content] = sorted(set(_scan_text(text, suffix in _ENCODED, secrets)))
        leaks += [Leak(name, line, description) for line, description in scanned[content]]
    return leaks


def _scan_text(text: str, encoded: bool, secrets: Secrets) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each leak in a text."""
    plain = readable(text) if encoded else text
    for body, line in secrets.solutions.find(plain):
        yield line, f"the body of {body.name}, from {body.file}"
    for answer in secrets.answers:
        for match in answer.finditer(plain):
            yield _line(plain, match), f"an answer from instructors/answers.md: {match[0][:40]}"
    for version in dict.fromkeys((text, plain)):
        for match in _MARKER.finditer(version):
            yield _line(version, match), f"a hidden marker: {match[0]}"
        for match in _PRINTED.finditer(version):
            yield _line(version, match), f"an output that prints the function {match[1]}"
        for match in _IMPORTED.finditer(version):
            if (name := match[1] or match[2]) in secrets.modules:
                yield _line(version, match), f"an import of the solutions in solutions/{name}.py"


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def readable(text: str) -> str:
    """Return the text inside JSON and HTML, with every part on the line where it was."""
    text = _JSON_ESCAPE.sub(_unescape, _JSON_LINES.sub("\n", text))
    return html.unescape(_TAG.sub(_texts_of_attributes, text))


def _unescape(escape: re.Match[str]) -> str:
    if escape[2]:
        return chr(int(escape[2], 16))
    # For the tokens \v ends a line of code, but it does not count as a line of the file.
    return {"n": "\v", "t": "\t", "r": ""}.get(escape[1], escape[1])


def _texts_of_attributes(tag: re.Match[str]) -> str:
    return " ".join(_ATTRIBUTE_TEXT.findall(tag[0])) + "\n" * tag[0].count("\n")


def content_digest(data: bytes) -> str:
    """Return a SHA-256 of the members of a zip file, which does not depend on how they were compressed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = sorted((name, hashlib.sha256(archive.read(name)).hexdigest()) for name in archive.namelist())
    return hashlib.sha256(repr(members).encode()).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Print every leak in the built book, and return 1 if there are any, or 2 if there is no such book.

    `python -m autograder.release.gate _build/html` calls this.
    """
    parser = argparse.ArgumentParser(
        prog="autograder.release.gate", description="Search the built book for leaked solutions."
    )
    parser.add_argument("book", type=Path, help="the folder of the HTML book, or an EPUB file")
    parser.add_argument("--course", type=Path, default=Path("course"), metavar="DIR", help="course folder")
    options = parser.parse_args(arguments)
    seed = secret_seed(options.course) if (options.course / "secret_seed").exists() else None
    try:
        last_lent = last_lent_chapter(configured_choice())
        leaks = scan_book(options.book, seed, last_lent=last_lent)
    except UserError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    print("\n".join(map(str, leaks)) or f"{options.book} gives nothing away, and lends {sentence(last_lent)}.")
    return 1 if leaks else 0


if __name__ == "__main__":
    raise SystemExit(main())
