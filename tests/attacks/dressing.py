"""Attacks through what a notebook says about itself: tags, points, ids, outputs, metadata. Each changes a notebook."""

import copy

from tests.attacks.attack import HONEST, own_cell


def only_honest(perfect: dict) -> dict:
    """Return a notebook with only the first exercise solved."""
    notebook = copy.deepcopy(perfect)
    for cell in notebook["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["solution"] and cell["cell_type"] == "code" and about["grade_id"] != HONEST:
            cell["source"] = f"def {about['grade_id']}(*args, **kwargs):\n    raise NotImplementedError"
    return notebook


def checks(notebook):
    """Return the check cells of a notebook."""
    return [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade")]


def shown(text):
    """Return a cell's output that shows a text."""
    return {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": text}}


def tags_its_tests_as_skipped(notebook):
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "hide_output", "raises-exception"]


def raises_its_points(notebook):
    for cell in checks(notebook):
        cell["metadata"]["nbgrader"] |= {"points": 1000, "max_score": 1000}


def takes_the_locks_off(notebook):
    for cell in notebook["cells"]:
        cell["metadata"]["nbgrader"] |= {"locked": False, "solution": True, "task": False}
        cell["metadata"] |= {"editable": True, "deletable": True, "run_control": {"frozen": True}}


def empties_the_tests(notebook):
    for cell in checks(notebook):
        cell["source"] = "22.0"


def brings_its_verdicts(notebook):
    for cell in checks(notebook):
        cell["outputs"], cell["execution_count"] = [shown("5.0"), shown("22.0")], 1


def turns_tests_into_text(notebook):
    for cell in checks(notebook):
        cell["cell_type"] = "markdown"


def deletes_the_tests(notebook):
    notebook["cells"] = [cell for cell in notebook["cells"] if cell not in checks(notebook)]


def doubles_its_tests(notebook):
    again = copy.deepcopy(checks(notebook))
    notebook["cells"] += [{**cell, "id": f"again-{n}", "source": "1.0"} for n, cell in enumerate(again)]


def adds_a_test_it_passes(notebook):
    about = {"grade": True, "grade_id": "bonus", "locked": True, "points": 100, "schema_version": 3, "solution": False}
    notebook["cells"].append(own_cell("code", "100.0", id="bonus", metadata={"nbgrader": about}))


def renames_the_solved_exercise(notebook):
    solved = next(cell for cell in notebook["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == HONEST)
    for cell in checks(notebook):
        name = cell["metadata"]["nbgrader"]["grade_id"].removeprefix("check-")
        if name != HONEST:
            about = solved["metadata"]["nbgrader"] | {"grade_id": f"check-{name}", "points": 22, "grade": True}
            notebook["cells"].append({**copy.deepcopy(solved), "id": f"check-{name}", "metadata": {"nbgrader": about}})


def says_it_is_graded(notebook):
    report = {"earned": 22.0, "points": 22.0, "results": [], "recorded": True, "report": "0" * 64}
    notebook["metadata"] |= {"autograder": report, "nbgrader": {"score": 22.0}, "title": "22.0 / 22.0"}


def asks_for_another_kernel(notebook):
    notebook["metadata"]["kernelspec"] = {"name": "../../bash", "language": "sh", "argv": ["/bin/true"]}


def runs_its_cells_by_magic(notebook):
    for cell in checks(notebook):
        cell["source"] = "%%script true\n" + "".join(cell["source"])
    notebook["cells"].insert(0, own_cell("code", "%%javascript\nIPython.notebook.kernel.execute('1')\n"))
    notebook["cells"].insert(0, own_cell("code", "!touch escaped\n%run escaped.py\n%load_ext escaped\n"))


DRESSING = (
    tags_its_tests_as_skipped,
    raises_its_points,
    takes_the_locks_off,
    empties_the_tests,
    brings_its_verdicts,
    turns_tests_into_text,
    deletes_the_tests,
    doubles_its_tests,
    adds_a_test_it_passes,
    renames_the_solved_exercise,
    says_it_is_graded,
    asks_for_another_kernel,
    runs_its_cells_by_magic,
)
