"""Render a result: as plain text for a terminal, as HTML for a notebook and for feedback pages.

No function here gets an expected value, so students may see all of the output, also for hidden cases. The HTML escapes
every text, because the student's code chooses names and the messages of exceptions.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape

from check.key import Mistake
from check.scoring import Result
from check.verdicts_of_test import on_case
from check.words import listed

# For the mistakes of a result, in their order; causes.py finds no more than three.
INTRODUCTIONS = ("Known mistake", "A second known mistake", "A third known mistake")
GREEN, RED, GREY = "#2e8b57", "#c2503a", "#8a8a8a"
# Whether something passes -> its mark, its colour and the end of its CSS class. None: it cannot be checked yet.
MARKS = {True: ("✓", GREEN, "pass"), False: ("✗", RED, "fail"), None: ("·", GREY, "blank")}

# *A word*, but no product, no power and no starred argument.
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]*[^\s*])\*(?![\w*])")


def headline(result: Result) -> str:
    """Return one line: "softmax: 3 of 4 points.", and what was measured if anything was."""
    if result.found:
        return f"{result.function}: {result.earned:g} of {result.points:g} points. {result.found[0]}"
    if result.passed:
        return f"{result.function}: all {sum(aspect.total for aspect in result.aspects)} cases pass."
    return f"{result.function}: {result.earned:g} of {result.points:g} points."


def as_text(result: Result) -> str:
    """Return the result for a terminal or a log."""
    if result.passed:
        return "\n".join(["✓ " + headline(result), *result.found[1:], *replacements(result)])
    lines = ["✗ " + headline(result), *result.found[1:], *replacements(result), first_fault(result)]
    lines += map(without_emphasis, _advice(result))
    for aspect in result.aspects:
        lines.append(f"  {MARKS[aspect.holds][0]} {aspect.name} ({aspect.passed} of {aspect.total} cases)")
    return "\n".join(lines)


def as_html(result: Result, *more: str) -> str:
    """Return the result as a box of HTML that contains its own style.

    more: further HTML to show inside the box, such as a picture of the difference.
    """
    if result.passed:
        sentences = "".join(map(paragraph, (*result.found[1:], *replacements(result))))
        return boxed(f"<strong style='color:{GREEN}'>✓</strong> {sentence_as_html(headline(result))}{sentences}", True)
    parts = [f"<strong style='color:{RED}'>✗</strong> <strong>{sentence_as_html(headline(result))}</strong>"]
    parts += map(paragraph, (*result.found[1:], *replacements(result), first_fault(result), *_advice(result)))
    return boxed("".join([*parts, *more, _aspects(result)]), False)


def boxed(html: str, passes: bool | None) -> str:
    """Return HTML in a box that contains its own style, with a bar in the colour of what passes or fails."""
    _, colour, kind = MARKS[passes]
    style = f"border-left:4px solid {colour};padding:.4em .9em;margin:.5em 0"
    return f'<div class="verdict verdict-{kind}" style="{style}">{html}</div>'


def as_list(rows: Iterable[tuple[bool | None, str]]) -> str:
    """Return rows of HTML as a list, each after the mark that says whether it passes."""
    marked = ((*MARKS[passes], row) for passes, row in rows)
    items = "".join(f"<li><span style='color:{colour}'>{mark}</span> {row}</li>" for mark, colour, _, row in marked)
    return f"<ul style='list-style:none;padding-left:0;margin:.4em 0'>{items}</ul>"


def replacements(result: Result) -> Iterator[str]:
    """Yield a sentence about the student's functions that grading replaced by correct ones, if there are any."""
    names = listed(f"`{name}`" for name in result.answered)
    if len(result.answered) == 1:
        yield f"Grading used a correct {names} instead of yours, which is wrong."
    elif result.answered:
        yield f"Grading used correct versions of {names} instead of yours, which are wrong."


def for_report(result: Result) -> str:
    """Return lines for a report about the feedback on an exercise, in the book's own words.

    Other sentences may quote the student's code, for example the line that raised an exception.
    """
    assert result.verdict
    lines = [f"Exercise: {result.function}", f"Verdict: {result.verdict.kind}, on the case “{result.case}”"]
    lines += (f"Known mistake: {mistake.name}" for mistake in result.mistakes)
    return "\n".join(lines)


def first_fault(result: Result) -> str:
    """Return the sentence about the first fault of an exercise that fails, with the name of its case."""
    assert result.verdict
    return result.verdict.message if result.blank else on_case(result.verdict.message, result.case)


def _advice(result: Result) -> Iterator[str]:
    if result.mend_first:
        names = listed(f"`{name}`" for name in result.mend_first)
        wrong = "is also wrong. Fix that" if len(result.mend_first) == 1 else "are also wrong. Fix those"
        yield f"It calls {names}, which {wrong} first."
    for introduction, mistake in zip(INTRODUCTIONS, result.mistakes, strict=False):
        yield f"{introduction}: {mistake.name}. {lesson(mistake)}"
    yield from (f"Also: {remark}" for remark in result.remarks)
    if result.mistakes:
        return
    if result.blank:
        yield where_to_begin(result)
    else:
        yield f"Reread “{result.section}”."


def lesson(mistake: Mistake) -> str:
    """Return the message of a known mistake, and the section to reread if it names one."""
    return f"{mistake.message} Reread “{mistake.reread}”." if mistake.reread else mistake.message


def where_to_begin(result: Result) -> str:
    """Return a sentence about what to read before writing an exercise that is still blank."""
    return f"Read “{result.section}” first. If you need help, open the hints above its cell."


def paragraph(sentence: str) -> str:
    """Return a sentence as an HTML paragraph of a box."""
    return f"<p style='margin:.4em 0'>{sentence_as_html(sentence)}</p>"


def _aspects(result: Result) -> str:
    return as_list(
        (
            aspect.holds,
            f"{escape(aspect.name)}: {aspect.passed} of {aspect.total} cases, "
            f"{aspect.earned:g} of {aspect.points:g} points",
        )
        for aspect in result.aspects
    )


def with_links(html: str, sections: dict[str, str]) -> str:
    """Return HTML of this module with every section title in “quotation marks” linked to its address."""
    for title, address in sections.items():
        link = f'<a href="{escape(address)}" target="_blank">{escape(title)}</a>'
        html = html.replace(f"“{escape(title)}”", f"“{link}”")
    return html


def sentence_as_html(sentence: str) -> str:
    """Return a sentence as HTML, with `code` and *emphasis*."""
    pieces = _outside_and_inside_code(escape(sentence))
    return "".join(f"<code>{piece}</code>" if i % 2 else EMPHASIS.sub(r"<em>\1</em>", piece) for i, piece in pieces)


def without_emphasis(sentence: str) -> str:
    """Return a sentence for a terminal: with its `code`, without the asterisks of *emphasis*."""
    pieces = _outside_and_inside_code(sentence)
    return "`".join(piece if i % 2 else EMPHASIS.sub(r"\1", piece) for i, piece in pieces)


def _outside_and_inside_code(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered pieces of a sentence; code between backticks has an odd number."""
    pieces = sentence.split("`")
    return enumerate(pieces if len(pieces) % 2 else [sentence])
