"""Rewrite a chapter's MyST as the plain Markdown that Jupyter, VS Code and Colab all show well.

A chapter may use the directives of DIRECTIVES and the roles of ROLES and nothing else; what it may not use
is refused with the file and the line.
"""

import html
import re
from dataclasses import dataclass

from autograder.chapter import myst, reading_time
from autograder.chapter.myst import Directive, MystError
from autograder.chapter.targets import Targets

# Line by line, so that what comes after stays on its line. Each heading keeps its own words.
_OFF_CORE_PATH = re.compile(rf"^{re.escape(reading_time.OFF_CORE_PATH)}\n(#+ .*)$", re.MULTILINE)
_CHOICE = re.compile(r"^- \[[ x]\] ")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?:#[\w-]+|([\w./-]+)\.(?:md|ipynb)(?:#[\w-]+)?)\)")


@dataclass(frozen=True)
class Page:
    """The page being rewritten: its name for error messages, its whole text, and what it can point at."""

    file: str
    text: str
    references: Targets

    def error(self, line, message):
        return MystError(f"{self.file}, line {line + 1}: {message}")


def convert(text: str, references: Targets, file: str = "chapter") -> str:
    """The same page in plain Markdown. Code cells are left exactly as they are.

    Raises:
        MystError: a directive, role, label or citation that is not known.
    """
    page = Page(file, text, references)
    return _convert(page, _OFF_CORE_PATH.sub(r"\n\1 *(off the core path)*", text), line=0)


def convert_line(text: str, references: Targets, file: str = "chapter") -> str:
    """The same for a caption or a title: inline text only."""
    return _inline(Page(file, text, references), text, line=0)


def _convert(page, text, line):
    lines = text.split("\n")
    edits = {}
    for token in myst.blocks(text):
        if token.map is None:
            continue
        start, end = token.map
        new = _rewrite(page, token, "\n".join(lines[start:end]), line)
        if new is not None:
            edits[start, end] = new
    for (start, end), new in sorted(edits.items(), reverse=True):
        lines[start:end] = new.split("\n")
    return "\n".join(lines)


def _rewrite(page, token, source, line):
    """The new text of the lines that a token covers, or None if they stay."""
    start = line + token.map[0]
    if token.type in ("myst_target", "myst_line_comment"):
        return ""
    if token.type == "inline":
        if re.match(r"\{[.#][\w-]+\}$", source):
            raise page.error(start, f"{source} is not {reading_time.OFF_CORE_PATH}, right above a heading")
        return _inline(page, source, start)
    if token.type == "math_block_label":
        return _math(token.content, page.references.numbers[token.info])
    if token.type not in ("fence", "colon_fence"):
        return None
    directive = myst.directive(token, line)
    if directive is None:
        if token.type == "colon_fence":
            raise page.error(start, f"a ::: block needs a directive, such as :::{{note}}; here is {token.info!r}")
        return None
    if directive.name in myst.CELLS:
        if token.level or line:
            raise page.error(start, "a code cell cannot stand inside another block")
        return None
    if directive.name not in DIRECTIVES:
        raise page.error(start, f"the directive {{{directive.name}}} has no plain form; use {', '.join(DIRECTIVES)}")
    return _indent(DIRECTIVES[directive.name](page, directive), source[: source.index(token.markup)])


def _indent(text, prefix):
    # Inside a list the first line keeps its marker, and the others stand below the text.
    rest = re.sub(r"[^>\s]", " ", prefix)
    return prefix + text.replace("\n", "\n" + rest)


def _body(page, directive):
    return _convert(page, directive.body, directive.body_line)


def _title(page, directive, otherwise=""):
    return _inline(page, directive.argument, directive.line) or otherwise


def _quote(title, body):
    return "\n".join(f"> {line}".rstrip() for line in f"**{title}**\n\n{body}".split("\n"))


def _note(page, directive: Directive):
    return _quote({"seealso": "See also"}.get(directive.name, directive.name.capitalize()), _body(page, directive))


def _admonition(page, directive):
    if "dropdown" in directive.options.get("class", "").split():
        return _dropdown(page, directive)
    return _quote(_title(page, directive), _body(page, directive))


def _dropdown(page, directive):
    # Markdown is not read inside <summary>, so its code spans are written as HTML.
    summary = html.escape(_title(page, directive), quote=False)
    summary = re.sub(r"`([^`]+)`", r"<code>\1</code>", summary)
    return _folded(summary, _body(page, directive))


def _folded(summary, text):
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def _exercise(page, directive):
    return f"### Exercise: {_title(page, directive)}\n\n{_body(page, directive)}"


def _question(page, directive):
    """What is asked, its choices as a numbered list, and below it, folded, what the page says to each of them."""
    lines = directive.body.split("\n")
    tokens = myst.blocks(directive.body)
    items = [token.map for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map]
    options = [item for item in items if _CHOICE.match(lines[item[0]])]
    asked = "\n".join(lines[: options[0][0]] if options else lines).strip()
    if options and any(line.strip() for line in lines[options[-1][1] :]):
        raise page.error(directive.body_line + options[-1][1], "the choices stand at the end of a question")
    parts = [f"**{_title(page, directive)}**", _convert(page, asked, directive.body_line)]
    if options:
        choices, answers = zip(*(_choice(page, lines, item, directive.body_line) for item in options), strict=True)
        folded = "\n".join(_indent(answer, f"{n}. ") for n, answer in enumerate(answers, start=1))
        parts.append("\n".join(f"{n}. {choice}" for n, choice in enumerate(choices, start=1)))
        parts.append(_folded("The answers", folded))
    return "\n\n".join(filter(None, parts))


def _choice(page, lines, item, line):
    """A choice, and the answer below it, in plain Markdown."""
    start, end = item
    verdict = "Yes" if lines[start].startswith("- [x]") else "No"
    text = [re.sub(r"^  ", "", each) for each in lines[start:end]]
    below = next((n for n, each in enumerate(text) if not each.strip()), len(text))
    choice = _inline(page, _CHOICE.sub("", " ".join(text[:below])), line + start)
    answer = _convert(page, "\n".join(text[below:]).strip(), line + start + below + 1)
    return choice, f"**{verdict}.** {answer}"


def _answer(page, directive):
    return _folded("An answer", _body(page, directive))


def _theorem(page, directive):
    kind = directive.name.removeprefix("prf:").capitalize()
    title = _title(page, directive)
    return _quote(f"{kind} ({title})." if title else f"{kind}.", _body(page, directive))


def _proof(page, directive):
    return f"**Proof.** {_body(page, directive)} ∎"


def _math(content, number=None):
    tag = f" \\tag{{{number}}}" if number else ""
    return f"$$\n{content.strip()}{tag}\n$$"


def _math_directive(page, directive):
    return _math(directive.body or directive.argument, page.references.numbers.get(directive.options.get("label")))


def _figure(page, directive):
    number = page.references.numbers.get(directive.options.get("name"))
    caption = _inline(page, directive.body, directive.body_line)
    return f"![{directive.options.get('alt', '')}]({directive.argument})\n\n{caption_text(caption, number)}"


def caption_text(caption: str, number: str | None) -> str:
    """A figure's caption as a line of its own."""
    return f"**Fig. {number}** {caption}" if number else caption


def _list_table(page, directive):
    def plain(cell):
        return _inline(page, " ".join(cell.split()), directive.line).replace("|", "\\|")

    rows = [re.split(r"(?m)^[ ]*- ", row) for row in re.split(r"(?m)^\* ", directive.body)[1:]]
    cells = [[plain(cell) for cell in row[1:]] for row in rows]
    if not cells or len({len(row) for row in cells}) > 1:
        raise page.error(directive.line, "the rows of this list-table have different lengths")
    if int(directive.options.get("header-rows", 0)) != 1:
        raise page.error(directive.line, "a list-table needs `:header-rows: 1`, as plain tables have one")
    head, *rest = [f"| {' | '.join(row)} |" for row in cells]
    title = [f"*{_title(page, directive)}*", ""] if directive.argument else []
    return "\n".join([*title, head, "|" + " --- |" * len(cells[0]), *rest])


def _bibliography(page, directive):
    keys = {key.strip() for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", page.text) for key in keys.split(",")}
    return "\n".join(f"- {work}" for work in page.references.full(keys))


def _inline(page, text, line):
    def role(name, content, offset):
        at = line + text.count("\n", 0, offset)
        if name not in ROLES:
            raise page.error(at, f"the role {{{name}}} has no plain form; use {', '.join(ROLES)}")
        try:
            return ROLES[name](page.references, content)
        except KeyError as missing:
            raise page.error(at, f"{{{name}}} points at {missing}, which is nowhere in the book") from missing

    def link(match):
        return match[1] or page.references.documents.get((match[2] or "").rpartition("/")[2], "")

    return myst.replace_spans(text, role, lambda between: _LINK.sub(link, between))


def _cite(references, content):
    return f"({'; '.join(' '.join(references.cite(key.strip())) for key in content.split(','))})"


def _cite_in_text(references, content):
    cited = [references.cite(key.strip()) for key in content.split(",")]
    return ", ".join(f"{authors} ({year})" for authors, year in cited)


def _ref(references, content):
    text, target = myst.text_and_target(content)
    return text or references.titles[target]


def _numref(references, content):
    text, target = myst.text_and_target(content)
    number = references.numbers[target]
    return text.replace("%s", number).replace("{number}", number) or f"Fig. {number}"


def _doc(references, content):
    text, target = myst.text_and_target(content)
    return text or references.documents[target.rpartition("/")[2].removesuffix(".md")]


def _term(references, content):
    text, target = myst.text_and_target(content)
    return text or target


DIRECTIVES = {
    **dict.fromkeys(myst.NOTES, _note),
    "admonition": _admonition,
    "dropdown": _dropdown,
    "exercise": _exercise,
    "question": _question,
    "answer": _answer,
    "explorer": lambda page, directive: "",  # a script of the page's; in a notebook one changes the cell
    "reading-time": lambda page, directive: str(reading_time.of(page.text)),
    "prf:proof": _proof,
    **{f"prf:{kind}": _theorem for kind in ("theorem", "lemma", "corollary", "proposition", "definition", "remark")},
    "math": _math_directive,
    "list-table": _list_table,
    "figure": _figure,
    "bibliography": _bibliography,
}
ROLES = {
    "cite": _cite,
    "cite:p": _cite,
    "cite:t": _cite_in_text,
    "ref": _ref,
    "numref": _numref,
    "eq": lambda references, content: f"({references.numbers[content.strip()]})",
    "doc": _doc,
    "term": _term,
}
