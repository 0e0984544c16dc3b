"""Decide which of the book's own solutions the pages lend to a reader who is stuck.

The publisher chooses in `_config.yml`, in the entry `lend` of Sphinx's configuration:

    lend: nothing      the default: a class still works on the exercises
    lend: through 3    the solutions of chapters 1 to 3, whose deadlines have passed
    lend: all          a book for readers who study alone
"""

import ast
import re
from pathlib import Path

import yaml

from autograder.errors import UserError
from autograder.layout import REPO, chapter_names, number_and_word, solution_modules

PACKAGE = "solutions.lent"
FOLDER = "solutions/lent"


def last_lent_chapter(choice: object, repo: Path = REPO) -> int:
    """Return the number of the last chapter whose solutions are lent, 0 for none.

    Raises:
        UserError: `choice` is not one of the three forms.
    """
    last = max(number_and_word(name)[0] for name in chapter_names(repo))
    if choice == "nothing":
        return 0
    if choice == "all":
        return last
    through = re.fullmatch(r"through (\d+)", str(choice))
    if not through or not 1 <= int(through[1]) <= last:
        forms = f"`nothing`, `all`, or `through N` with N from 1 to {last}"
        raise UserError(f"`lend: {choice}` in _config.yml: write {forms}")
    return int(through[1])


def choice_of(repo: Path = REPO) -> object:
    """Return what the entry `lend` of `_config.yml` says."""
    config = yaml.safe_load((repo / "_config.yml").read_text(encoding="utf-8"))
    return config["sphinx"]["config"].get("lend", "nothing")


def lent_files(last: int, repo: Path = REPO) -> dict[str, bytes]:
    """Return path -> content of the package that lends the solutions of chapters 1 to `last`; empty for 0.

    Docstrings and comments are left out, because readers need the functions and not the code. The package's modules
    import each other.
    """
    modules = [name for name, number in solution_modules(repo).items() if number is not None and number <= last]
    files = {
        f"{FOLDER}/{name}.py": _lent((repo / "solutions" / f"{name}.py").read_text(encoding="utf-8"), modules)
        for name in modules
    }
    return {f"{FOLDER}/__init__.py": b"", **files} if files else {}


def _lent(source: str, modules: list[str]) -> bytes:
    """Return the source of a module without docstrings, with its imports from other lent modules renamed."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in [f"solutions.{name}" for name in modules]:
            node.module = node.module.replace("solutions", PACKAGE, 1)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree).encode()


def sentence(last: int) -> str:
    """Return what the pages lend, for the person who builds the book."""
    if not last:
        return "no solutions"
    return "the solutions of chapter 1" if last == 1 else f"the solutions of chapters 1 to {last}"


def main() -> None:
    """Print what this build lends; `python -m autograder.release.lending` calls this."""
    print(sentence(last_lent_chapter(choice_of())))


if __name__ == "__main__":
    main()
