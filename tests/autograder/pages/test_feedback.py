"""Feedback pages: what they say, that they load and run nothing, and that every command makes the same page."""

import copy
import html
import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.apps.api import NbGraderAPI
from traitlets.config import Config

import autograder
from autograder.authoring.exercise import exercises_of
from autograder.course.configuration import nbgrader_config
from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.layout import chapter_names
from autograder.pages import code, feedback
from autograder.pages.safe_markdown import MATHML_ATTRIBUTES, MAX_SOURCE, TAGS, safe_markdown
from autograder.version import version
from check.faults import KINDS, Verdict
from check.scoring import Result
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
REPO = Path(autograder.__file__).parent.parent
HARM = "</code></pre></style><script>window.harm = 1</script><img src=https://other.example/x onerror=window.harm=1>"


def page_of(course, student):
    return course / "feedback" / student / CHAPTER / f"{CHAPTER}.html"


def text_of(page):
    """Return the text of a page, without tags."""
    body = page.read_text(encoding="utf-8").partition("</style>")[2]
    inline = re.sub(r"</?(a|code|em|span|strong)\b[^>]*>", "", body)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", inline)).split())


def with_cells(perfect, **sources):
    """Return the perfect notebook with other sources in some of its cells."""
    notebook = copy.deepcopy(perfect)
    for cell in notebook["cells"]:
        cell["source"] = sources.get(cell["id"], cell["source"])
    return notebook


def hostile(perfect):
    """Return a notebook with a script in every place where its author can write."""
    raises = f"def softmax(scores):\n    raise ValueError({HARM!r})\n# {HARM}"
    notebook = with_cells(perfect, softmax=raises, attention=f"# {HARM}" * 300)
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": HARM}}
    own = [{"cell_type": "markdown", "id": "own", "metadata": {}, "source": HARM}]
    own += [{"cell_type": "code", "id": "own-2", "metadata": {"tags": [HARM]}, "source": "1", "outputs": [output]}]
    notebook["metadata"]["kernelspec"]["name"] = HARM
    return {**notebook, "cells": own + notebook["cells"]}


@pytest.fixture(scope="module")
def pages(graded_class, released_course, perfect, tmp_path_factory):
    """Return pages by student: the example class, one half right, with two mistakes, with three, and hostile."""
    course = shutil.copytree(released_course, tmp_path_factory.mktemp("two") / "course")
    overflows = (
        "def softmax(scores):\n    weights = np.exp(scores)\n    return weights / weights.sum(-1, keepdims=True)"
    )
    down = "def softmax(scores):\n    exps = np.exp(scores)\n    return exps / exps.sum(axis=-2, keepdims=True)"
    unscaled = "def attention_weights(queries, keys):\n    return softmax(queries @ keys.swapaxes(-1, -2))"
    two = {"softmax": down, "attention_weights": unscaled}
    third = "def attention(queries, keys, values):\n    return 2 * attention_weights(queries, keys) @ values, 0"
    mistaken = {"two": with_cells(perfect, **two), "three": with_cells(perfect, **two, attention=third)}
    notebooks = {"half": with_cells(perfect, softmax=overflows), **mistaken, "hostile": hostile(perfect)}
    for student, notebook in notebooks.items():
        path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    class_run.grade_class(course, CHAPTER)
    _, rows, graded = graded_class
    courses = {**dict.fromkeys(rows, graded), **dict.fromkeys(notebooks, course)}
    return {student: page_of(folder, student) for student, folder in courses.items()}


# ----------------------------------------------------------------------------------------- what they say


def test_a_known_mistake_comes_with_its_message_the_section_to_reread_and_the_next_step(pages):
    text = text_of(pages["mistake-1"])
    assert "18 of 22 points" in text
    assert "✗ softmax 0 of 4 points" in text and "✓ copies_predecessor 5 of 5 points" in text
    assert "First thing wrong weights has the right shape and wrong values" in text
    assert "A known mistake normalises over the rows' axis. Your weights add up" in text
    assert "The keys are the last axis, -1. Reread “From scores to weights: the softmax”" in text
    assert "Fix it, then run check(softmax)." in text


def test_an_exercise_that_was_graded_with_a_correct_function_says_so(pages):
    text = text_of(pages["mistake-1"])
    assert "✓ attention_weights: 5 of 5 points Grading used a correct softmax instead of yours, which is" in text
    assert text.count("Grading used a correct softmax instead of yours, which is wrong.") == 2
    assert "Grading used" not in text_of(pages["perfect"])
    both = "Grading used correct versions of softmax and attention_weights instead of yours, which are"
    assert f"{both} wrong." in text_of(pages["two"])


def test_next_steps_begin_with_the_functions_that_others_call(pages):
    steps = text_of(pages["three"]).partition("What to do next")[2]
    assert steps.index("softmax normalises") < steps.index("attention_weights does not scale the scores")
    assert "Fix it, and softmax too, because check(attention_weights) calls your own functions." in steps
    assert "First fix attention_weights, which it calls. Then run check(attention) again." in steps


def test_a_wrong_exercise_shows_the_aspects_that_pass(pages):
    text = text_of(pages["half"])
    assert "✗ softmax: 3 of 4 points" in text
    assert "✓ the idea: 3 of 3 cases, 1 of 1 points" in text and "✗ stability:" in text


def test_a_perfect_page_says_that_nothing_is_left_to_do(pages):
    text = text_of(pages["perfect"])
    assert "22 of 22 points" in text and "✗" not in text
    assert "Nothing is left to do. Every exercise passes." in text


def test_the_page_names_the_function_that_raised(pages):
    text = text_of(pages["raises"])
    assert "repaired_attention raised" in text and "Go to the line that raised the exception" in text


def test_an_unreadable_file_gets_the_reason_and_the_next_step(pages):
    text = text_of(pages["truncated"])
    assert "could not be graded The file ends in the middle" in text
    assert "Open the notebook in Jupyter, save it, and hand in the file 01_attention.ipynb itself." in text
    assert "Your exercises" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_has_a_next_step(kind):
    result = Result("f", 0, 1, (), Verdict(False, kind, "…"), "a case", (), "Section")
    assert feedback.next_step(result).endswith("Then run `check(f)`.")


@pytest.mark.parametrize("chapter", chapter_names())
def test_every_section_to_reread_is_a_heading_of_its_chapter(chapter):
    source = (REPO / "chapters" / f"{chapter}.md").read_text(encoding="utf-8")
    headings = {line.lstrip("#").strip() for line in source.splitlines() if line.startswith("#")}
    for exercise in exercises_of(chapter):
        mistakes = [(), *((mistake,) for mistake, _ in exercise.mistakes.values())]
        results = [Result(exercise.name, 0, 1, (), None, "", named, exercise.section) for named in mistakes]
        assert {feedback.section(result) for result in results} <= headings


def test_sections_become_links_at_the_next_run_once_the_book_has_an_address(graded_class, tmp_path):
    course = shutil.copytree(graded_class[2], tmp_path / "course")
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('c.FeedbackExporter.book = "https://book.example/html/"\n')
    (row,) = class_run.grade_class(course, CHAPTER, students=["mistake-1"])
    assert row.reused and not row.written
    page = page_of(course, "mistake-1").read_text(encoding="utf-8")
    assert 'href="https://book.example/html/chapters/01_attention.html#from-scores-to-weights-the-softmax"' in page


def test_students_report_an_explanation_without_their_code_once_there_is_an_address(graded_class, pages, tmp_path):
    course = shutil.copytree(graded_class[2], tmp_path / "course")
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('c.FeedbackExporter.report_to = "help@uni.example.org"\n')
    class_run.grade_class(course, CHAPTER, students=["mistake-1", "raises"])
    links = {
        student: [urlsplit(link) for link in re.findall(r'href="(mailto:[^"]+)"', page_of(course, student).read_text())]
        for student in ("mistake-1", "raises")
    }
    bodies = {student: [parse_qs(unescape(link.query))["body"][0] for link in links[student]] for student in links}
    about, whole_page = bodies["mistake-1"]
    assert about.startswith("Exercise: softmax\nVerdict: value, on the case “")
    assert f"Known mistake: normalises over the rows' axis\nVersion: {version()}\n" in about
    assert whole_page.startswith(f"Feedback on: {CHAPTER}\nVersion: {version()}\n")
    line = re.search(r"\(line \d+: <code>(.+?)</code>|\(line \d+: ([^)]+)", page_of(course, "raises").read_text())
    assert line and not any((line[1] or line[2]) in body for body in bodies["raises"]), "the report quotes no line"


def test_a_page_names_the_version_and_links_to_no_report_without_an_address(pages):
    assert text_of(pages["mistake-1"]).endswith(f"Made with version {version()} of the autograder.")


# ------------------------------------------------------------------------------- small, offline, harmless


def test_a_page_is_small_and_refers_to_nothing_outside_itself(pages):
    for page in pages.values():
        html = page.read_text(encoding="utf-8")
        assert len(html) < 100_000
        assert set(re.findall(r"url\(.{0,24}", html.partition("</style>")[0])) == {'url("data:font/woff2;base64,'}
        assert "@import" not in html
        for tag in re.findall(r"<[^>]*>", html):
            assert not re.match(r"<(script|link|img|iframe|object|embed|base|form|svg)\b", tag, re.I)
            assert not re.search(r'\s(src|on\w+)=|\shref="(?!#)', tag, re.I), tag


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("student", ["perfect", "blank", "mistake-1", "raises", "truncated", "hostile"])
def test_a_page_fits_a_phone_and_runs_nothing(pages, browser, student, dark):
    requests = browser.open(pages[student].as_uri(), width=390, dark=dark)
    assert [url for url in requests if not url.startswith("data:font/")] == [pages[student].as_uri()]
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.evaluate("window.harm === undefined && document.scripts.length === 0")
    ink, paper = (browser.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    assert (sum(map(int, re.findall(r"\d+", ink))) > sum(map(int, re.findall(r"\d+", paper)))) == dark


@pytest.mark.parametrize("student", ["perfect", "blank", "mistake-1", "raises", "truncated"])
def test_a_page_uses_its_own_fonts(pages, browser, student):
    browser.open(pages[student].as_uri())
    assert browser.text_in_fonts_of_the_machine() == {}


@pytest.mark.parametrize("source", [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "<svg onload=alert(1)>",
    "<iframe srcdoc='<script>1</script>'>", "<a href='data:text/html,1'>x</a>", "<b onclick=alert(1)>x</b>",
    r"$\text{<script>alert(1)</script>}$", r"$\href{javascript:alert(1)}{x}$", r"$\style{background:url(//x)}{x}$",
    "<math><mtext><script>alert(1)</script></mtext></math>", "\ue0000\ue001<script>1</script>", "![x](https://x/y.png)",
    "<a href='&#106;avascript:alert(1)'>x</a>", "<a href='java\x00script:alert(1)'>x</a>", "<a href='//x.y/z'>x</a>",
    "<a href='\u2028javascript:alert(1)'>x</a>", "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<svg><p><style><a id='</style><img src=x onerror=alert(1)>'>", "<!--><img src=x onerror=alert(1)>-->",
])  # fmt: skip
def test_students_markdown_runs_nothing(source):
    page = safe_markdown(source).lower()
    for harm in ("<script", "<img", "<svg", "<iframe", 'href="javascript', 'href="data', "<b onclick", "style="):
        assert harm not in page
    assert ForbiddenParts(page).forbidden == set()


class ForbiddenParts(HTMLParser):
    """Collects the tags, attributes and addresses of a page that students' Markdown may not have."""

    def __init__(self, page):
        super().__init__()
        self.forbidden = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        formula = tag.startswith("m")
        allowed = MATHML_ATTRIBUTES if formula else {"class", "href", "rel", "title"}
        self.forbidden |= {tag} - TAGS if not formula else set()
        self.forbidden |= {(name, value) for name, value in attributes if name not in allowed}
        self.forbidden |= {value for name, value in attributes if name == "class" and value in ("verdict", "good")}
        addresses = {value for name, value in attributes if name == "href"}
        self.forbidden |= {address for address in addresses if not re.match(r"https?://|mailto:", address)}


PIECES = (
    "<a href=", "'", '"', "javascript:alert(1)", "\x00", "\u2028", "<b", " onclick=", ">", "/", "<!--", "-->", "--!>",
    "<svg>", "<math>", "<mtext>", "<style>", "</style>", "<title>", "<![CDATA[", "]]>", "`", "$", "$$", "\n", "\n\n",
    "    ", "[x](", ")", "<img src=x onerror=", "&lt;", "&#x3c;", "<noscript>", "<p title=", "<table>", "<td>", "> ",
    "<details>", "&#xe000;", "0", "\ue001", '\\text{" onclick="x}', '<div class="', '</div ">', "<script>", "<SCRIPT",
    "\\text{", "}", "\\begin{a}", "\\end{a}", "<x:y ",
    "https://a.example", "//a.example", "- ",
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_no_markdown_gets_past_the_sanitiser(source):
    assert ForbiddenParts(safe_markdown(source)).forbidden == set()


@pytest.mark.parametrize("source", ["i<j and j>k", "if x <y: return", "List<int> y", "a <y", "![a](https://x.y/z.png)"])
def test_a_tag_that_is_not_allowed_becomes_text(source):
    words = unescape(re.sub(r"<[^>]*>", "", safe_markdown(source)))
    assert words.strip() == source if "!" not in source else "https://x.y/z.png" in words


@pytest.mark.parametrize(
    "source",
    [
        "&#xe000;99&#xe001;", "\ue000\ue001\ue0001\ue001", '<a title="&#xe000;0&#xe001;">x</a> $FORMULA$',
        '<div class="\n\n$FORMULA$\n\n</div "> x</div>', '<abbr title="\n\n$$FORMULA$$\n\n</div ">x</abbr>',
        "[x](https://a.b '$FORMULA$')", "![$FORMULA$](https://a.b)",
    ],
)  # fmt: skip
def test_text_that_looks_like_a_placeholder_of_a_formula_stays_text(source):
    assert ForbiddenParts(safe_markdown(source.replace("FORMULA", '\\text{"\tonclick="alert(1)}'))).forbidden == set()


def test_markdown_cannot_look_like_a_verdict():
    page = safe_markdown('<div class="verdict good"><span class="score k">25 of 25 points</span></div>')
    assert page.strip() == '<div class=""><span class="k">25 of 25 points</span></div>'


def test_ordinary_markdown_becomes_html():
    page = safe_markdown("# Title\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```python\nx < 1\n```\n$a < b$ and **bold**")
    for piece in ("<h1", "<table>", "<strong>bold</strong>", "x", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"):
        assert piece in page


@pytest.mark.parametrize(("tex", "mathml"), [
    ("$R_k$", "<msub><mi>R</mi><mi>k</mi></msub>"),
    (r"$$\sum_j a_j$$", '<math display="block">'),
    (r"\begin{align}a&=b\end{align}", "<mtable"),
    (r"$\epsilon / K$", "<mi>ϵ</mi>"),
])  # fmt: skip
def test_formulas_become_mathml(tex, mathml):
    assert mathml in safe_markdown(tex)


@pytest.mark.parametrize("tex", [r"$\frac{$", "$" + "{" * 900 + "$", r"$\def\a{\b\b}\def\b{x}\a$", f"${'x' * 2000}$"])
def test_a_formula_without_mathml_or_of_unbounded_size_is_shown_as_tex(tex):
    assert f"<code>{tex}</code>" in safe_markdown(tex)


@pytest.mark.parametrize("piece", ["\\begin{a}", "[", "$x ", "- ", "<a ", "`", ">", "*a ", "${$"])
def test_markdown_that_would_take_too_long_is_shown_as_text(piece):
    # Each of these took minutes to render. Up to the limit, rendering ends.
    assert safe_markdown(piece * (MAX_SOURCE // len(piece)))
    source = piece * (MAX_SOURCE + 1)
    assert safe_markdown(source) == f"<pre>{html.escape(source)}</pre>"


@pytest.mark.parametrize("fence", ["html", "ipython", "mermaid", ""])
def test_markdown_highlights_only_python(fence):
    assert safe_markdown(f"```{fence}\nif a < 1:\n```") == "<pre><code>if a &lt; 1:\n</code></pre>\n"
    assert '<span class="k">if</span>' in safe_markdown("```python\nif a < 1:\n```")


@pytest.mark.parametrize("source", ["x" + " \r\n\t\n" * 9_700 + "y = 1", "x = 1\n" * 9_700, "x = " + "1 + " * 9_700])
def test_pygments_gets_no_source_that_takes_it_long(monkeypatch, source):
    sources = []
    monkeypatch.setattr(code, "highlight", lambda source, *options: sources.append(source) or source)

    def in_markdown(source):
        return safe_markdown(f"```python\n{source[: MAX_SOURCE - 20]}\n```")

    for render in (code.highlighted, code.numbered_block, in_markdown):
        render(source)
        lines = sources.pop().split("\n")
        assert len(lines) <= code.MAX_LINES and sum(map(len, lines)) <= code.MAX_CHARACTERS
        assert lines == [line.rstrip() for line in lines]


def test_a_very_long_cell_is_cut_and_says_so(pages, released_course):
    source = "\n".join(f"x = {number}" for number in range(1_000, 6_000))
    assert code.omission(source[:3_000]) == "" and code.omission("x" + "\n" * 9_000) == ""
    config = nbgrader_config(released_course)
    del config.HTMLExporter["template_paths"]  # formgrader's own pages need formgrader
    html, _ = HTMLExporter(config=config).from_notebook_node(new_notebook(cells=[new_code_cell(source)]))
    for text in (html, text_of(pages["hostile"])):
        assert re.search(r"The cell has \d\d,\d{3} more characters, which are not shown here\.", text)
    assert ">1399<" in html and ">1400<" not in html
    assert '<span class="linenos">400</span>' in html  # an instructor writes this number into a remark


# ----------------------------------------------------------------------------------- every command, one page


@pytest.mark.thorough("formgrader's button runs the same command of nbgrader")
def test_nbgraders_command_in_the_course_folder_makes_the_same_page(course, hand_in, contents):
    hand_in("ada", contents["mistake-1"])
    class_run.grade_class(course, CHAPTER)
    ours = page_of(course, "ada").read_bytes()
    page_of(course, "ada").unlink()
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", CHAPTER, "--force"]
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    process = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert page_of(course, "ada").read_bytes() == ours


@pytest.mark.thorough("formgrader's button runs the same command of nbgrader")
def test_formgraders_button_makes_the_same_page(course, hand_in, contents):
    hand_in("ada", contents["mistake-1"])
    class_run.grade_class(course, CHAPTER)
    ours = page_of(course, "ada").read_bytes()
    page_of(course, "ada").unlink()
    directory = open_coursedir(course, CHAPTER)
    # The converter also gets what formgrader sets for its own pages (nbgrader.server_extensions.formgrader).
    formgrader = Config(HTMLExporter={"template_name": "formgrade", "extra_template_basedirs": ["elsewhere"]})
    directory.config.merge(formgrader)
    answer = NbGraderAPI(directory, config=directory.config).generate_feedback(CHAPTER, "ada")
    assert answer["success"], answer
    assert page_of(course, "ada").read_bytes() == ours
