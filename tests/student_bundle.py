"""Try a bundle as a student does: `python tests/student_bundle.py 01_attention.zip`.

The script unzips the bundle of chapter 1, installs its requirements.txt into a new environment, solves one exercise,
answers another one wrongly, and runs the whole notebook. It needs nothing but a Python.
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
# grade_id -> text that the cell's output must contain.
EXPECTED = {
    "check-softmax": "✓ softmax: all",
    "check-attention_weights": "Known mistake: does not scale the scores.",
    "check-attention": "`attention` is not written yet.",
    "what-is-left": "1 of 5 exercises pass.",
}


def main(bundle: Path) -> int:
    """Return 0 if the notebook runs to the end and its checks print what they must, else 1."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(folder)
        notebook = next(folder.glob("*.ipynb"))
        answer(notebook)
        python = installed(folder)
        subprocess.run([python, "-m", "check"], cwd=folder, check=True)
        run(python, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(notebook))
        wrong = problems(notebook)
    print("\n".join(wrong) or f"{bundle.name}: the notebook ran to the end, and its checks were right.")
    return bool(wrong)


def answer(notebook: Path) -> None:
    """Write the answers into a notebook's stubs."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if (name := grade_id(cell)) in ANSWERS:
            cell["source"] = ANSWERS[name]
    notebook.write_text(json.dumps(content), encoding="utf-8")


def installed(folder: Path) -> Path:
    """Return the Python of a new environment with the packages of the bundle's requirements.txt."""
    venv.create(folder / ".venv", with_pip=True)
    python = folder / ".venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--requirement", str(folder / "requirements.txt"))
    return python


def run(*command: str | Path) -> None:
    """Run a command. Raises CalledProcessError if it fails."""
    subprocess.run(command, check=True)


def problems(notebook: Path) -> list[str]:
    """Return a sentence for each cell that did not run and for each expected text that is missing."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    shown = {grade_id(cell): text_below(cell) for cell in code}
    wrong = [f"A cell did not run:\n{''.join(cell['source'])}" for cell in code if not cell["execution_count"]]
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
    sys.stdout.reconfigure(encoding="utf-8")  # on Windows the default encoding may lack the ✓
    sys.exit(main(Path(sys.argv[1])))
