"""Run a chapter's notebook with the solutions in it, as a student with all exercises solved would."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from nbconvert.preprocessors import ExecutePreprocessor
from nbformat.notebooknode import NotebookNode

from autograder.authoring.make_key import public_key
from autograder.chapter.chapter import Chapter
from autograder.chapter.sections import section_addresses
from autograder.chapter.targets import read_targets
from autograder.layout import REPO
from autograder.release import bundle
from autograder.release.notebook import MAY_RAISE, source_notebook

TIMEOUT = 1800  # seconds for one cell; chapter 9 trains a model


def run_faults(chapter: Chapter, repo: Path = REPO) -> Iterator[str]:
    """Yield a sentence for each cell that raises. A given cell may, if the chapter tags it `raises-exception`."""
    notebook = source_notebook(chapter, read_targets(repo / "chapters"), section_addresses(chapter, repo))
    expected = {cell.source for cell in chapter.cells if MAY_RAISE in cell.metadata.get("tags", ())}
    with tempfile.TemporaryDirectory() as folder:
        for path, content in bundle.files(chapter, map(public_key, chapter.exercises), repo).items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        runner = ExecutePreprocessor(timeout=TIMEOUT, kernel_name=notebook.metadata.kernelspec.name, allow_errors=True)
        ran, _ = runner.preprocess(notebook, {"metadata": {"path": folder}})
    for cell in ran.cells:
        if cell.cell_type == "code" and cell.source not in expected:
            yield from _errors(cell, chapter)


def _errors(cell: NotebookNode, chapter: Chapter) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "error":
            name = cell.metadata.nbgrader.grade_id
            yield f"{chapter.name}: the cell {name} raises {output.ename}: {output.evalue}\n{cell.source}"
