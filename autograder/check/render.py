"""A result as words: plain text for a terminal, HTML for a notebook and for feedback pages.

Nothing here knows an expected value, so all of it may be shown for hidden cases. What the student
raised or named is escaped.
"""

from collections.abc import Iterator
from html import escape

from autograder.check.judge import Result
from autograder.check.words import listed

# One mistake after the other; explain.py looks for no more.
INTRODUCTIONS = ("Known mistake", "A second known mistake", "A third known mistake")
GOOD, BAD = "#2e8b57", "#c2503a"


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
    kind, colour = ("pass", GOOD) if result.passed else ("fail", BAD)
    style = f"border-left:4px solid {colour};padding:.4em .9em;margin:.5em 0"
    box = f'<div class="verdict verdict-{kind}" style="{style}">'
    if result.passed:
        said = "".join(_paragraph(sentence) for sentence in in_its_place(result))
        return f"{box}<strong style='color:{colour}'>✓</strong> {as_code(headline(result))}{said}</div>"
    parts = [f"<strong style='color:{colour}'>✗</strong> <strong>{as_code(headline(result))}</strong>"]
    parts += map(_paragraph, (*in_its_place(result), first_wrong(result), *_advice(result)))
    return "".join([box, *parts, *more, _aspects(result), "</div>"])


def in_its_place(result: Result) -> Iterator[str]:
    """With what an exercise was graded, if not with the student's own functions alone."""
    if result.answered:
        names, own = listed(f"`{name}`" for name in result.answered), "is" if len(result.answered) == 1 else "are"
        yield f"Graded with a right {names} in the place of yours, which {own} wrong."


def first_wrong(result: Result) -> str:
    """The first thing wrong with an exercise that does not hold, and the case it was seen on."""
    assert result.verdict
    seen = f" Seen on the case “{result.case}”." if result.verdict.kind != "blank" else ""
    return result.verdict.message + seen


def _advice(result: Result) -> Iterator[str]:
    if result.mend_first:
        names = listed(f"`{name}`" for name in result.mend_first)
        wrong = "is wrong itself: mend that" if len(result.mend_first) == 1 else "are wrong themselves: mend them"
        yield f"It calls {names}, which {wrong} first."
    for introduction, mistake in zip(INTRODUCTIONS, result.mistakes, strict=False):
        yield f"{introduction}: {mistake.name}. {' '.join(mistake.message.split())}"
    yield from (f"Besides: {remark}" for remark in result.remarks)
    if result.mistakes:
        return
    if result.verdict and result.verdict.kind == "blank":
        yield f"“{result.section}” leads up to it, and the hints above its cell are there to be opened."
    else:
        yield f"Read again: “{result.section}”."


def _paragraph(sentence: str) -> str:
    return f"<p style='margin:.4em 0'>{as_code(sentence)}</p>"


def _aspects(result: Result) -> str:
    rows = "".join(
        f"<li><span style='color:{GOOD if a.holds else BAD}'>{'✓' if a.holds else '✗'}</span> "
        f"{escape(a.name)}: {a.passed} of {a.total} cases, {a.earned:g} of {a.points:g} points</li>"
        for a in result.aspects
    )
    return f"<ul style='list-style:none;padding-left:0;margin:.4em 0'>{rows}</ul>"


def as_code(sentence: str) -> str:
    """Escape a sentence and set what stands between backticks as code."""
    pieces = escape(sentence).split("`")
    if len(pieces) % 2 == 0:
        return escape(sentence)
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
