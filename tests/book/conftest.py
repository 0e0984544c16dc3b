"""One build of the book, shared by all tests of the book."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def jupyter_book(folder):
    """Run `jupyter-book build .` in a folder."""
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=900)


@pytest.fixture(scope="session")
def html():
    """The folder of the built book. The build is the author's own: a page that is up to date is not built again."""
    built = jupyter_book(ROOT)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-8000:]
    return ROOT / "_build" / "html"


@pytest.fixture
def little_book(tmp_path):
    """A book of one page with the house's configuration; write it with `page`, build it with `jupyter_book`."""
    for name in ("book", "_config.yml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    for folder in ("chapters", "solutions", "autograder"):
        (tmp_path / folder).mkdir()
    (tmp_path / "chapters" / "references.bib").write_text("")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/01_attention\n")
    return tmp_path
