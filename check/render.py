"""A result as words: plain text for a terminal, HTML for a notebook and for feedback pages.

Nothing here knows an expected value, so all of it may be shown for hidden cases. What the student
raised or named is escaped.
"""

from collections.abc import Iterable, Iterator
from html import escape

from check.judge import Result
from check.key import Mistake
from check.words import listed

# One mistake after the other; explain.py looks for no more.
INTRODUCTIONS = ("Known mistake", "A second known mistake", "A third known mistake")
GOOD, BAD, CALM = "#2e8b57", "#c2503a", "#8a8a8a"
# Whether something holds; None where there is nothing that could.
MARKS = {True: ("✓", GOOD, "pass"), False: ("✗", BAD, "fail"), None: ("·", CALM, "blank")}


def headline(result: Result) -> str:
    """One line: `softmax`: 3 of 4 points."""
    if result.passed:
        return f"{result.function}: all {sum(a.total for a in result.aspects)} cases hold."
    return f"{result.function}: {result.earned:g} of {result.points:g} points."


def as_text(result: Result) -> str:
    """The result for a terminal or a log."""
    if result.passed:
        return "\n".join(["✓ " + headline(result), *in_its_place(result)])
    lines = ["✗ " + headline(result), *in_its_place(result), first_wrong(result), *_advice(result)]
    lines += [f"  {'✓' if a.holds else '✗'} {a.name} ({a.passed} of {a.total} cases)" for a in result.aspects]
    return "\n".join(lines)


def as_html(result: Result, *more: str) -> str:
    """The result as a box of HTML that carries its own style.

    more: further HTML to show inside the box, such as a picture of the difference.
    """
    if result.passed:
        said = "".join(paragraph(sentence) for sentence in in_its_place(result))
        return boxed(f"<strong style='color:{GOOD}'>✓</strong> {as_code(headline(result))}{said}", True)
    parts = [f"<strong style='color:{BAD}'>✗</strong> <strong>{as_code(headline(result))}</strong>"]
    parts += map(paragraph, (*in_its_place(result), first_wrong(result), *_advice(result)))
    return boxed("".join([*parts, *more, _aspects(result)]), False)


def boxed(html: str, holds: bool | None) -> str:
    """HTML in a box that carries its own style, with a bar of the colour that says whether something holds."""
    _, colour, kind = MARKS[holds]
    style = f"border-left:4px solid {colour};padding:.4em .9em;margin:.5em 0"
    return f'<div class="verdict verdict-{kind}" style="{style}">{html}</div>'


def as_list(rows: Iterable[tuple[bool | None, str]]) -> str:
    """Rows of HTML as a list, each behind the mark that says whether it holds."""
    marked = ((*MARKS[holds], row) for holds, row in rows)
    items = "".join(f"<li><span style='color:{colour}'>{mark}</span> {row}</li>" for mark, colour, _, row in marked)
    return f"<ul style='list-style:none;padding-left:0;margin:.4em 0'>{items}</ul>"


def in_its_place(result: Result) -> Iterator[str]:
    """With what an exercise was graded, if not with the student's own functions alone."""
    if result.answered:
        names, own = listed(f"`{name}`" for name in result.answered), "is" if len(result.answered) == 1 else "are"
        yield f"Graded with a right {names} in the place of yours, which {own} wrong."


def first_wrong(result: Result) -> str:
    """The first thing wrong with an exercise that does not hold, and the case it was seen on."""
    assert result.verdict
    seen = "" if result.blank else f" Seen on the case “{result.case}”."
    return result.verdict.message + seen


def _advice(result: Result) -> Iterator[str]:
    if result.mend_first:
        names = listed(f"`{name}`" for name in result.mend_first)
        wrong = "is wrong itself: mend that" if len(result.mend_first) == 1 else "are wrong themselves: mend them"
        yield f"It calls {names}, which {wrong} first."
    for introduction, mistake in zip(INTRODUCTIONS, result.mistakes, strict=False):
        yield f"{introduction}: {mistake.name}. {lesson(mistake)}"
    yield from (f"Besides: {remark}" for remark in result.remarks)
    if result.mistakes:
        return
    if result.blank:
        yield leading_up(result)
    else:
        yield f"Read again: “{result.section}”."


def lesson(mistake: Mistake) -> str:
    """Return what a known mistake teaches: its message, then the section to read again."""
    return f"{mistake.message} Reread “{mistake.reread}”." if mistake.reread else mistake.message


def leading_up(result: Result) -> str:
    """Where to begin with an exercise that is not written yet."""
    return f"“{result.section}” leads up to it, and the hints above its cell are there to be opened."


def paragraph(sentence: str) -> str:
    """A sentence as a paragraph of a box."""
    return f"<p style='margin:.4em 0'>{as_code(sentence)}</p>"


def _aspects(result: Result) -> str:
    return as_list(
        (a.holds, f"{escape(a.name)}: {a.passed} of {a.total} cases, {a.earned:g} of {a.points:g} points")
        for a in result.aspects
    )


def with_links(html: str, sections: dict[str, str]) -> str:
    """Return our own HTML with each title of a section in “quotation marks” as a link to its address."""
    for title, address in sections.items():
        link = f'<a href="{escape(address)}" target="_blank">{escape(title)}</a>'
        html = html.replace(f"“{escape(title)}”", f"“{link}”")
    return html


def as_code(sentence: str) -> str:
    """Escape a sentence and set what stands between backticks as code."""
    pieces = escape(sentence).split("`")
    if len(pieces) % 2 == 0:
        return escape(sentence)
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
