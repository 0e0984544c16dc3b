"""The page on models of today runs without PyTorch."""

import subprocess
import sys

import jupytext
import pytest

from tests.book.conftest import ROOT
from tests.patience import SECONDS

pytestmark = pytest.mark.book

WITHOUT_PYTORCH = "import sys\nsys.modules['torch'] = None  # importing it raises ModuleNotFoundError\n"


def test_the_page_runs_without_pytorch():
    notebook = jupytext.read(ROOT / "chapters" / "since_then.md")
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    script = WITHOUT_PYTORCH + f"sys.path[:0] = {[str(ROOT), str(ROOT / 'chapters')]}\n" + "\n\n".join(cells)
    ran = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "PyTorch is not installed here." in ran.stdout
