"""Sphinx extension: build a page again when any file that it is made from has changed, not just its own text.

jupyter-cache compares only the cells of a notebook. After a change in `solutions/` it would keep the old output. So we
store a digest of each page's sources beside the cache. We store a digest of our extensions and styles too, because
Sphinx does not build any page again when they change.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from jupyter_cache import get_cache
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from autograder.release.bundle import PINS

RECORD = "sources.json"
ALL_PAGES = "book"  # the folder of extensions and styles, and the name of the digest that every page depends on
# These make the text that extensions add to a page, and the notebook that a page offers.
ALSO_FOR_ALL_PAGES = (
    *(f"autograder/chapter/{name}.py" for name in ("cards", "chapter", "plain_markdown", "reading_time")),
    *(f"autograder/release/{name}.py" for name in ("build", "bundle", "cell_needs", "notebook")),
    *PINS,
    "CITATION.cff",
    "_config.yml",
    "chapters/search_names.yml",
)
# The modules that make tables of all chapters and exercises.
INDEX = re.compile(r"^import (?:indexes|lessons)$", re.MULTILINE)
# A page with exercises runs `check`, and these files make its keys.
CHECK = ("check/**/*.py", "autograder/authoring/*.py")


def sources(root: Path, docname: str, chapters: list[str]) -> list[Path]:
    """Return the files, other than its own text, that the output of a page's cells depends on.

    For a chapter, these are all of `solutions/` except for later chapters, and its own exercises. An index page is made
    from all chapters and all exercises. docname: as in "chapters/03_masking". chapters: the words of all, in order.
    """
    word = docname.rpartition("/")[2].partition("_")[2]
    later = chapters[chapters.index(word) + 1 :] if word in chapters else []
    files = [*root.glob("chapters/*.py"), *root.glob("solutions/*.py")]
    files += [path for pattern in CHECK for path in root.glob(pattern)]
    if word in chapters:
        files += root.glob(f"autograder/exercises/{word}/*.py")
    if INDEX.search((root / f"{docname}.md").read_text(encoding="utf-8")):
        files += [*root.glob("autograder/exercises/*/*.py"), *root.glob("autograder/chapter/*.py")]
        files += root.glob("chapters/[0-9]*.md")
    return sorted(path for path in files if path.parent.name != "solutions" or path.stem not in later)


def digest(root: Path, paths: Iterable[Path]) -> str:
    """Return one SHA-256 hex digest of the names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def all_digests(root: Path, docnames: Iterable[str]) -> dict[str, str]:
    """Return the digest of each page's sources by the page's name, and one more under ALL_PAGES."""
    chapters = [path.stem.partition("_")[2] for path in sorted(root.glob("chapters/[0-9][0-9]_*.md"))]
    digests = {docname: digest(root, sources(root, docname, chapters)) for docname in docnames}
    files = sorted(path for path in (root / ALL_PAGES).rglob("*") if path.is_file() and path.suffix != ".pyc")
    files += [root / name for name in ALSO_FOR_ALL_PAGES if (root / name).exists()]
    return digests | {ALL_PAGES: digest(root, files)}


class Freshness:
    """Compare the digests of one build with those of the last build that succeeded."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}

    def find_stale_pages(
        self, app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
    ) -> set[str]:
        """Return the pages that Sphinx must read again, and drop the cached runs of those whose sources changed.

        After a change of extensions or styles Sphinx reads every page again, but keeps the cached runs.
        """
        self.digests = all_digests(Path(app.srcdir), env.found_docs)
        record = _record(env)
        known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        stale = {name for name, digest in self.digests.items() if known.get(name) != digest}
        cache = get_cache(_cache_path(env))
        # Compare file names only, because the folder may have been moved since the run.
        names = {Path(env.doc2path(docname)).name for docname in stale - {ALL_PAGES}}
        for run in cache.list_cache_records():
            if Path(run.uri).name in names:
                cache.remove_cache(run.pk)
        return set(env.all_docs) if ALL_PAGES in stale else stale & set(env.all_docs)

    def save(self, app: Sphinx, exception: Exception | None) -> None:
        """Store the digests of a build that succeeded."""
        if exception is None and self.digests:
            _record(app.env).write_text(json.dumps(self.digests, indent=1, sort_keys=True), encoding="utf-8")


def _cache_path(env: BuildEnvironment) -> str:
    return env.mystnb_config.execution_cache_path  # type: ignore[attr-defined]  # MyST-NB adds the attribute


def _record(env: BuildEnvironment) -> Path:
    return Path(_cache_path(env)) / RECORD


def setup(app: Sphinx) -> None:
    freshness = Freshness()
    app.connect("env-get-outdated", freshness.find_stale_pages)
    app.connect("build-finished", freshness.save, priority=2000)  # after everything else that can fail the build
