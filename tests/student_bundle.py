"""Try a bundle as a student does: `python tests/student_bundle.py 01_attention.zip`.

It unzips the bundle of chapter 1, installs its requirements.txt into a new environment of the Python that runs this
script, solves one exercise, gets another one wrong, and runs the whole notebook. Needs nothing but that Python.
"""

import json
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

RIGHT = """\
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
WRONG = """\
def attention_weights(queries, keys):
    return softmax(queries @ np.swapaxes(keys, -1, -2))
"""
ANSWERS = {"softmax": RIGHT, "attention_weights": WRONG}
# grade_id -> what stands below the cell.
EXPECTED = {
    "check-softmax": "✓ softmax: all",
    "check-attention_weights": "Known mistake: does not scale the scores.",
    "check-attention": "`attention` is not written yet.",
    "what-is-left": "1 of 6 exercises pass.",
}


def main(bundle: Path) -> int:
    """Return 0 if the notebook runs to its end and its checks say what they must, else 1."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(place)
        notebook = next(place.glob("*.ipynb"))
        answer(notebook)
        python = installed(place)
        run(python, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(notebook))
        wrong = problems(notebook)
    print("\n".join(wrong) or f"{bundle.name}: Run All came to the end, and the checks told right from wrong.")
    return bool(wrong)


def answer(notebook: Path) -> None:
    """Write the answers into a notebook's stubs."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if (name := grade_id(cell)) in ANSWERS:
            cell["source"] = ANSWERS[name]
    notebook.write_text(json.dumps(content), encoding="utf-8")


def installed(place: Path) -> Path:
    """Return the Python of a new environment that has what a bundle's requirements.txt asks for."""
    venv.create(place / ".venv", with_pip=True)
    python = place / ".venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--requirement", str(place / "requirements.txt"))
    return python


def run(*command: str | Path) -> None:
    """Run a command; raise CalledProcessError if it fails."""
    subprocess.run(command, check=True)


def problems(notebook: Path) -> list[str]:
    """Return a sentence for each cell that was not run, and for each expected text that is missing."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    shown = {grade_id(cell): text_below(cell) for cell in code}
    wrong = [f"A cell was not run:\n{''.join(cell['source'])}" for cell in code if not cell["execution_count"]]
    wrong += [
        f"{name} must show {expected!r}, but shows:\n{shown.get(name, 'nothing: there is no such cell')}"
        for name, expected in EXPECTED.items()
        if expected not in shown.get(name, "")
    ]
    return wrong


def grade_id(cell: dict) -> str:
    """Return nbgrader's name of a cell, or an empty string."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def text_below(cell: dict) -> str:
    """Return a cell's output as plain text."""
    outputs = (output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"])
    return "".join("".join(output) for output in outputs)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # on Windows it may not know a ✓
    sys.exit(main(Path(sys.argv[1])))
