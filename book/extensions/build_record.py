"""Sphinx extension: record the sources of a built book, so that the tests need not build the same book again.

The record is a digest in a file beside the folder of the pages. There is none while a build runs, after a build that
failed, and after a build whose settings are not those of `_config.yml`.
"""

import sys
import sysconfig
from pathlib import Path

from jupyter_book.config import get_final_config
from sphinx.application import Sphinx
from sphinx.config import Config

from autograder.layout import HUB
from book.extensions.stale_pages import digest

FOLDERS = ("autograder", "book", "chapters", "check", "solutions")
FILES = ("*.cff", "*.py", "*.toml", "*.txt", "*.yml", "LICENSE")
HTML = Path("_build", "html")
# Settings that Sphinx and the theme change before our extensions see them.
EXTENDED = ("extensions", "templates_path")


def sources_digest(root: Path) -> str:
    """Return a digest of every file that can decide what is in the book, and of the versions of all packages."""
    files = [path for pattern in FILES for path in root.glob(pattern)]
    files += [path for folder in FOLDERS for path in (root / folder).rglob("*")]
    sources = sorted(p for p in files if p.is_file() and p.suffix != ".pyc" and not p.is_relative_to(root / HUB))
    packages = sorted(path.name for path in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    return "\n".join([digest(root, sources), sys.version, *packages])


def is_current(root: Path) -> bool:
    """Return whether the book in `_build/html` was built from exactly the sources that are in the folder now."""
    record = _record(root / HTML)
    is_built = record.exists() and (root / HTML / "index.html").exists()
    return is_built and record.read_text(encoding="utf-8") == sources_digest(root)


class BuildRecord:
    """Write the record of one build."""

    def __init__(self) -> None:
        self.sources = ""

    def begin(self, app: Sphinx, config: Config) -> None:
        """Take the digest before Sphinx reads a page, so that it is wrong if a source changes during the build."""
        if _has_own_settings(Path(app.srcdir), config):
            self.sources = sources_digest(Path(app.srcdir))

    def delete(self, app: Sphinx) -> None:
        _record(Path(app.outdir)).unlink(missing_ok=True)

    def save(self, app: Sphinx, exception: Exception | None) -> None:
        """Write the record of a build that succeeded."""
        if exception is None and self.sources and app.builder.name == "html":
            _record(Path(app.outdir)).write_text(self.sources, encoding="utf-8")


def _has_own_settings(root: Path, config: Config) -> bool:
    """Return whether a build has the settings of the folder's `_config.yml` and `_toc.yml`."""
    command_line = {"external_toc_path": (root / "_toc.yml").as_posix(), "latex_individualpages": False}
    own, _ = get_final_config(user_yaml=root / "_config.yml", cli_config=command_line, sourcedir=root)
    return all(config.overrides.get(name) == value for name, value in own.items() if name not in EXTENDED)


def _record(pages: Path) -> Path:
    return pages.with_name(f"{pages.name}.sources")


def setup(app: Sphinx) -> None:
    record = BuildRecord()
    app.connect("config-inited", record.begin, priority=0)  # before other extensions change the settings
    app.connect("builder-inited", record.delete)
    app.connect("build-finished", record.save, priority=3000)  # after everything else that can fail the build
