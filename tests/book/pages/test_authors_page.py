"""The examples on the page for authors work."""

import inspect
import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from markdown_it import MarkdownIt

from autograder.authoring import diagnoses
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.authoring.problems import catching_cases, problems
from autograder.exercises.training import diagnose_training
from autograder.layout import exercise_names
from solutions import attention
from tests.book.conftest import ROOT

pytestmark = pytest.mark.book

PAGE = (ROOT / "chapters" / "authors.md").read_text(encoding="utf-8")


def blocks(caption):
    """Return the code blocks of the page with this caption."""
    pattern = rf"^(`{{3,}}){{code-block}} \w+\n:caption: {re.escape(caption)}\n\n(.*?)^\1$"
    return [code for _, code in re.findall(pattern, PAGE, flags=re.DOTALL | re.MULTILINE)]


@pytest.fixture(scope="module")
def solution():
    (code,) = blocks("solutions/attention.py")
    namespace = {"np": np, "__name__": "solutions.attention"}
    exec(compile(code, "authors.md", "exec"), namespace)
    return namespace["attention_entropy"]


@pytest.fixture(scope="module")
def exercise(solution):
    namespace = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "attention_entropy", solution, raising=False)
        for code in blocks("autograder/exercises/attention/attention_entropy.py"):
            exec(compile(code, "authors.md", "exec"), namespace)
    return namespace["attention_entropy"]


@pytest.mark.parametrize("seed", [PUBLIC_SEED, 1, 2, 3])
def test_the_example_s_answer_key_is_sound(exercise, seed):
    key = make_key(exercise, seed)
    assert problems(exercise, key) == []
    assert len(key.mistakes) == 2 and all(any(catching_cases(key, slug)) for slug in key.mistakes)


def test_the_example_has_as_many_rewrites_as_every_exercise_must_have(exercise):
    assert len(exercise.equivalents) >= 3


def test_a_chapter_with_the_example_passes_its_checks(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "01_attention.md").write_text("".join(blocks("chapters/01_attention.md")))
    assert exercise_names("01_attention", tmp_path) == ["attention_entropy"]


def test_the_example_s_card_states_its_points(exercise):
    (chapter,) = blocks("chapters/01_attention.md")
    assert f"**{exercise.points:g} points" in chapter


def test_the_example_s_stub_is_its_solution_without_a_body(solution):
    (chapter,) = blocks("chapters/01_attention.md")
    stub = re.search(r"^def attention_entropy.*?raise NotImplementedError$", chapter, flags=re.DOTALL | re.MULTILINE)
    namespace = {}
    exec(compile(stub.group(), "authors.md", "exec"), namespace)
    assert inspect.signature(namespace["attention_entropy"]) == inspect.signature(solution)
    assert namespace["attention_entropy"].__doc__ == solution.__doc__


def test_the_section_on_diagnoses_shows_code_of_the_repository():
    section = PAGE.partition("### An exercise that asks for a diagnosis\n")[2].partition("\n### ")[0]
    source = inspect.getsource(diagnoses) + inspect.getsource(diagnose_training)
    (code,) = re.findall(r"```{code-block} python\n(.*?)```", section, flags=re.DOTALL)
    assert [part for part in code.strip().split("\n\n\n") if part not in source] == []
    named = re.findall(r"`([a-z]+(?:_[a-z]+)+)`", section)
    assert {"one_of_each", "clear_logs", "is_unclear"} <= {name for name in named if f"def {name}(" in source}


def test_the_captions_are_shown_as_they_are_written():
    """Markdown takes two underscores for bold letters."""
    captions = re.findall("^:caption: (.*)$", PAGE, flags=re.MULTILINE)
    assert [shown for shown in map(MarkdownIt().renderInline, captions) if "<" in shown] == []


@pytest.mark.thorough("other tests examine and release chapters")
def test_the_new_chapter_is_released_by_following_the_page(tmp_path):
    copy = tmp_path / "copy"
    for folder in ("autograder", "book", "chapters", "check", "solutions"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "fonts"))
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, copy)
    section = PAGE[PAGE.index("## A new chapter") :]
    for path in re.findall(r"^:caption: (\S+)$", section, flags=re.MULTILINE):
        file = copy / path.replace("\\", "")
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(blocks(path)), encoding="utf-8")
    commands = re.findall(r"^\.venv/bin/autograder (.*)$", section, flags=re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["doctor", "mistakes", "release"]
    program = "import sys; from autograder.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for command in commands:
        run = subprocess.run(
            [sys.executable, "-c", program, *command.split()], cwd=copy, capture_output=True, text=True
        )
        assert run.returncode == 0, (command, run.stdout, run.stderr)
    with zipfile.ZipFile(copy / "course" / "release" / "13_sampling.zip") as bundle:
        assert any(name.endswith("13_sampling.ipynb") for name in bundle.namelist())
