"""Convert a chapter from MyST to plain Markdown that Jupyter, VS Code and Colab all show well.

A chapter may use the directives in DIRECTIVES and the roles in ROLES. For any other, the converter raises an error with
the file and the line.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

from markdown_it.token import Token

from autograder.chapter import myst, reading_time
from autograder.chapter.myst import Directive, MystError
from autograder.chapter.targets import Targets

# The replacement has as many lines as the match, so that later line numbers stay the same. Headings keep their words.
_OFF_CORE_PATH = re.compile(rf"^{re.escape(reading_time.OFF_CORE_PATH)}\n(#+ .*)$", re.MULTILINE)
_CHOICE = re.compile(r"^- \[[ x]\] ")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?:#[\w-]+|([\w./-]+)\.(?:md|ipynb)(?:#[\w-]+)?)\)")


@dataclass(frozen=True)
class Page:
    """The page to convert: its file for error messages, its whole text, and the targets of its links."""

    file: str
    text: str
    targets: Targets

    def error(self, line: int, message: str) -> MystError:
        return MystError(f"{self.file}, line {line + 1}: {message}")


def convert(text: str, targets: Targets, file: str = "chapter") -> str:
    """Return a page in plain Markdown. Its code cells do not change.

    Raises MystError if the page has an unknown directive, role, label or citation.
    """
    page = Page(file, text, targets)
    return _convert(page, _OFF_CORE_PATH.sub(r"\n\1 *(off the core path)*", text), line=0)


def convert_line(text: str, targets: Targets, file: str = "chapter") -> str:
    """Return a caption or a title in plain Markdown. It contains only inline text."""
    return _inline(Page(file, text, targets), text, line=0)


def _convert(page: Page, text: str, line: int) -> str:
    """Return a text of the page in plain Markdown. line: number of the line on which the text begins."""
    lines = text.split("\n")
    edits: dict[tuple[int, int], str] = {}
    for token in myst.blocks(text):
        if token.map is None:
            continue
        start, end = token.map
        replacement = _replacement(page, token, "\n".join(lines[start:end]), line)
        if replacement is not None:
            edits[start, end] = replacement
    for (start, end), replacement in sorted(edits.items(), reverse=True):
        lines[start:end] = replacement.split("\n")
    # JupyterLab's MathJax knows no \\allowbreak. A zero-width space does the same, except for the break.
    return "\n".join(lines).replace(r"\allowbreak", r"\hspace{0pt}")


def _replacement(page: Page, token: Token, source: str, line: int) -> str | None:
    """Return the plain Markdown for a token's lines, or None if they do not change. source: these lines."""
    assert token.map is not None  # `_convert` passes only tokens that have lines
    start = line + token.map[0]
    if token.type in ("myst_target", "myst_line_comment"):
        return ""
    if token.type == "inline":
        if re.match(r"\{[.#][\w-]+\}$", source):
            raise page.error(start, f"{source} is not {reading_time.OFF_CORE_PATH} directly above a heading")
        return _inline(page, source, start)
    if token.type == "math_block_label":
        return _math(token.content, page.targets.numbers[token.info])
    if token.type not in ("fence", "colon_fence"):
        return None
    directive = myst.directive(token, line)
    if directive is None:
        if token.type == "colon_fence":
            raise page.error(start, f"a ::: block needs a directive such as :::{{note}}, but has {token.info!r}")
        return None
    if directive.name in myst.CELLS:
        if token.level or line:
            raise page.error(start, "a code cell cannot be inside another block")
        return None
    if directive.name not in DIRECTIVES:
        raise page.error(start, f"the directive {{{directive.name}}} has no plain form; use {', '.join(DIRECTIVES)}")
    return _indent(DIRECTIVES[directive.name](page, directive), source[: source.index(token.markup)])


def _indent(text: str, prefix: str) -> str:
    """Return a text with the prefix before its first line, and the other lines indented below the first one's text."""
    indent = re.sub(r"[^>\s]", " ", prefix)
    return prefix + text.replace("\n", "\n" + indent)


def _body(page: Page, directive: Directive) -> str:
    return _convert(page, directive.body, directive.body_line)


def _title(page: Page, directive: Directive) -> str:
    return _inline(page, directive.argument, directive.line)


def _quote(title: str, body: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in f"**{title}**\n\n{body}".split("\n"))


def _note(page: Page, directive: Directive) -> str:
    return _quote({"seealso": "See also"}.get(directive.name, directive.name.capitalize()), _body(page, directive))


def _admonition(page: Page, directive: Directive) -> str:
    if "dropdown" in directive.options.get("class", "").split():
        return _dropdown(page, directive)
    return _quote(_title(page, directive), _body(page, directive))


def _dropdown(page: Page, directive: Directive) -> str:
    # Viewers do not parse Markdown inside <summary>, so its code spans become HTML.
    summary = html.escape(_title(page, directive), quote=False)
    summary = re.sub(r"`([^`]+)`", r"<code>\1</code>", summary)
    return _folded(summary, _body(page, directive))


def _folded(summary: str, text: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def _derivation(page: Page, directive: Directive) -> str:
    return _folded(
        f"The derivation. First solve <code>{directive.argument}</code>, then open it.", _body(page, directive)
    )


def _exercise(page: Page, directive: Directive) -> str:
    return f"### Exercise: {_title(page, directive)}\n\n{_body(page, directive)}"


def _question(page: Page, directive: Directive) -> str:
    """Return a question, its choices as a numbered list, and the answers to them in a folded block."""
    lines = directive.body.split("\n")
    tokens = myst.blocks(directive.body)
    items = [token.map for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map]
    choices = [item for item in items if _CHOICE.match(lines[item[0]])]
    question = "\n".join(lines[: choices[0][0]] if choices else lines).strip()
    if choices and any(line.strip() for line in lines[choices[-1][1] :]):
        raise page.error(directive.body_line + choices[-1][1], "a question must end with its choices")
    parts = [f"**{_title(page, directive)}**", _convert(page, question, directive.body_line)]
    if choices:
        pairs = [_choice_and_answer(page, lines, item, directive.body_line) for item in choices]
        answers = "\n".join(_indent(answer, f"{n}. ") for n, (_, answer) in enumerate(pairs, start=1))
        parts.append("\n".join(f"{n}. {choice}" for n, (choice, _) in enumerate(pairs, start=1)))
        parts.append(_folded("The answers", answers))
    return "\n\n".join(filter(None, parts))


def _choice_and_answer(page: Page, lines: list[str], item: list[int], line: int) -> tuple[str, str]:
    """Return a choice, and the answer below it, in plain Markdown.

    lines: the question's lines. item: start and end of the choice's list item among them. line: number of the first.
    """
    start, end = item
    verdict = "Yes" if lines[start].startswith("- [x]") else "No"
    item_lines = [text.removeprefix("  ") for text in lines[start:end]]
    blank = next((n for n, text in enumerate(item_lines) if not text.strip()), len(item_lines))
    choice = _inline(page, _CHOICE.sub("", " ".join(item_lines[:blank])), line + start)
    answer = _convert(page, "\n".join(item_lines[blank:]).strip(), line + start + blank + 1)
    return choice, f"**{verdict}.** {answer}"


def _answer(page: Page, directive: Directive) -> str:
    return _folded("An answer", _body(page, directive))


def _theorem(page: Page, directive: Directive) -> str:
    kind = directive.name.removeprefix("prf:").capitalize()
    title = _title(page, directive)
    return _quote(f"{kind} ({title})." if title else f"{kind}.", _body(page, directive))


def _proof(page: Page, directive: Directive) -> str:
    return f"**Proof.** {_body(page, directive)} ∎"


def _math(content: str, number: str | None = None) -> str:
    tag = f" \\tag{{{number}}}" if number else ""
    return f"$$\n{content.strip()}{tag}\n$$"


def _math_directive(page: Page, directive: Directive) -> str:
    return _math(directive.body or directive.argument, _number(page, directive, "label"))


def _number(page: Page, directive: Directive, option: str) -> str | None:
    """Return the number of the equation or figure whose label is in an option of the directive; None if it has none."""
    return page.targets.numbers.get(directive.options.get(option, ""))


def _figure(page: Page, directive: Directive) -> str:
    number = _number(page, directive, "name")
    caption = _inline(page, directive.body, directive.body_line)
    return f"![{directive.options.get('alt', '')}]({directive.argument})\n\n{caption_text(caption, number)}"


def caption_text(caption: str, number: str | None) -> str:
    """Return a figure's caption with its number, if it has one."""
    return f"**Fig. {number}** {caption}" if number else caption


def _list_table(page: Page, directive: Directive) -> str:
    def plain(cell: str) -> str:
        return _inline(page, " ".join(cell.split()), directive.line).replace("|", "\\|")

    rows = [re.split(r"(?m)^[ ]*- ", row) for row in re.split(r"(?m)^\* ", directive.body)[1:]]
    cells = [[plain(cell) for cell in row[1:]] for row in rows]
    if not cells or len({len(row) for row in cells}) > 1:
        raise page.error(directive.line, "the rows of this list-table have different lengths")
    if int(directive.options.get("header-rows", 0)) != 1:
        raise page.error(
            directive.line, "a list-table needs `:header-rows: 1`, because plain tables have one header row"
        )
    head, *rest = [f"| {' | '.join(row)} |" for row in cells]
    title = [f"*{_title(page, directive)}*", ""] if directive.argument else []
    return "\n".join([*title, head, "|" + " --- |" * len(cells[0]), *rest])


def _bibliography(page: Page, directive: Directive) -> str:
    keys = {key.strip() for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", page.text) for key in keys.split(",")}
    return "\n".join(f"- {work}" for work in page.targets.bibliography(keys))


def _inline(page: Page, text: str, line: int) -> str:
    def role(name: str, content: str, offset: int) -> str:
        role_line = line + text.count("\n", 0, offset)
        if name not in ROLES:
            raise page.error(role_line, f"the role {{{name}}} has no plain form; use {', '.join(ROLES)}")
        try:
            return ROLES[name](page.targets, content)
        except KeyError as missing:
            raise page.error(role_line, f"{{{name}}} refers to {missing}, which the book does not have") from missing

    def link(match: re.Match[str]) -> str:
        return match[1] or page.targets.documents.get((match[2] or "").rpartition("/")[2], "")

    return myst.replace_spans(text, role, lambda plain: _LINK.sub(link, plain))


def _cite(targets: Targets, content: str) -> str:
    return f"({'; '.join(' '.join(targets.citation(key.strip())) for key in content.split(','))})"


def _cite_in_text(targets: Targets, content: str) -> str:
    citations = [targets.citation(key.strip()) for key in content.split(",")]
    return ", ".join(f"{authors} ({year})" for authors, year in citations)


def _titled(title: Callable[[Targets, str], str]) -> Callable[[Targets, str], str]:
    """Return the function for a role. A role without a text gets the title of its target."""

    def role(targets: Targets, content: str) -> str:
        text, target = myst.text_and_target(content)
        return text or title(targets, target)

    return role


def _numref(targets: Targets, content: str) -> str:
    text, target = myst.text_and_target(content)
    number = targets.numbers[target]
    return text.replace("%s", number).replace("{number}", number) or f"Fig. {number}"


DIRECTIVES: dict[str, Callable[[Page, Directive], str]] = {
    **dict.fromkeys(myst.NOTES, _note),
    "admonition": _admonition,
    "dropdown": _dropdown,
    "derivation": _derivation,
    "exercise": _exercise,
    "question": _question,
    "answer": _answer,
    "explorer": lambda page, directive: "",  # on the page a script runs; in a notebook readers change the cell
    "reading-time": lambda page, directive: str(reading_time.estimate(page.text)),
    "prf:proof": _proof,
    **{f"prf:{kind}": _theorem for kind in ("theorem", "lemma", "corollary", "proposition", "definition", "remark")},
    "math": _math_directive,
    "list-table": _list_table,
    "figure": _figure,
    "bibliography": _bibliography,
}
ROLES: dict[str, Callable[[Targets, str], str]] = {
    "cite": _cite,
    "cite:p": _cite,
    "cite:t": _cite_in_text,
    "ref": _titled(lambda targets, target: targets.titles[target]),
    "numref": _numref,
    "eq": lambda targets, content: f"({targets.numbers[content.strip()]})",
    "doc": _titled(lambda targets, target: targets.documents[target.rpartition("/")[2].removesuffix(".md")]),
    "term": _titled(lambda targets, target: target),
}
