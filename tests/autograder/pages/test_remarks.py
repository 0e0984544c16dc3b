"""An instructor's remarks on lines of a student's code, on the page of feedback."""

import pytest

from autograder.pages.code import highlighted
from autograder.pages.remarks import code_with_remarks, separate
from tests.autograder.gradebook.graded_course import comment, graded, page

pytestmark = pytest.mark.grading
SOURCE = "\n\ndef f(x):\n    '''One\n    and two.'''\n    return x\n"
HARM = "</code></pre><script>window.harm = 1</script><img src=x onerror=window.harm=1>"


@pytest.mark.parametrize(("typed", "remarks", "rest"), [
    ("line 6: Use `y`.", {6: ["Use `y`."]}, ""),
    ("Good.\n  LINE 6 :a\nline 3: b\nline 6: c\nBye.", {6: ["a", "c"], 3: ["b"]}, "Good.\nBye."),
    ("line 0: a\nline 7: b\nline 99999: c\nline 6:\nline six: d", {}, None),  # no such line, or no remark
    ("See line 6: here.\n\n- line 6: there", {}, None),
    ("", {}, ""),
])  # fmt: skip
def test_only_a_line_that_exists_has_remarks(typed, remarks, rest):
    assert separate(typed, SOURCE) == (remarks, typed if rest is None else rest)


def test_a_remark_stands_below_its_line_and_is_escaped():
    before, after = code_with_remarks(SOURCE, {4: [f"`x` {HARM}", "*Why*?"]}).split('</span><span class="remark"', 1)
    assert before.count("\n") == 3 and "One" in before and "and two." not in before
    assert "Your instructor on line 4: <code>x</code> &lt;/code&gt;" in after and "<em>Why</em>?" in after
    assert "<script" not in after and "<img" not in after
    assert after.index("Why") < after.index("and two.")


def test_without_remarks_every_line_stays():
    source = "\nx = 1\n\x0cy = '''a\n\n<b>'''"
    assert code_with_remarks(source, {}) == highlighted(source)


def test_feedback_shows_remarks_in_the_code_and_the_rest_below(ada, perfect, browser, tmp_path):
    comment(ada, "softmax", f"Well done.\nline 2: Name *it*. {HARM}\nline 999: Nowhere.")
    graded(ada)
    file = tmp_path / "page.html"
    file.write_text(page(ada), encoding="utf-8")
    browser.open(file.as_uri())
    texts = "[...document.querySelectorAll({!r})].map(element => element.innerText)"
    (remark,) = browser.evaluate(texts.format("pre .remark"))
    assert remark.startswith("Your instructor on line 2: Name it. </code></pre><script>")
    (rest,) = browser.evaluate(texts.format(".comment"))
    assert rest.split("\n", 1)[1].split() == ["Well", "done.", "line", "999:", "Nowhere."]
    lines = browser.evaluate("document.querySelector('pre:has(.remark)').innerText").splitlines()
    assert lines.pop(2) == remark
    (source,) = (cell["source"] for cell in perfect["cells"] if cell["id"] == "softmax")
    assert lines == [line.rstrip() for line in source.splitlines()]
    assert browser.evaluate("window.harm || ''") == ""
