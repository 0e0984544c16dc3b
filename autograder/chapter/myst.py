"""Read MyST Markdown: its blocks, its directives and its inline roles, each with the line it stands on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docutils.parsers.rst.directives.misc import TestDirective
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from myst_parser.parsers.directives import parse_directive_text

from autograder.errors import UserError

CELLS = ("code-cell", "raw-cell")
LEAVES = ("code", "code-block", "figure", "list-table", "math", "table")  # no blocks of the page stand inside
NOTES = ("note", "tip", "important", "warning", "seealso")  # what stands behind such a name is the body's first line
# A code span, and the role in front of it if there is one; a span may break over a line.
_SPAN = re.compile(
    r"(?:\{(?P<role>[\w:+.-]+)\})? (?<!`)(?P<ticks>`+)(?!`) (?P<content>.+?) (?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.VERBOSE,
)
_TEXT_AND_TARGET = re.compile(r"(?P<text>.*\S)\s*<(?P<target>[^<>]+)>", re.DOTALL)


class MystError(UserError):
    """Something in a chapter that has no plain form, or is not well formed; names file and line."""


class _Titled(TestDirective):
    """To MyST, a directive that takes every option as it is written; what each one means is for the converter."""


class _Note(_Titled):
    optional_arguments = 0


@dataclass(frozen=True)
class Directive:
    """`:::{name} argument`, its options, and its body; `body_line` counts from 0, as `line` does.

    Options stand in lines of `:option: value`, or as YAML between two lines of `---`. Those of a cell are YAML either
    way, and have its types.
    """

    name: str
    argument: str
    options: dict[str, Any]
    body: str
    line: int
    body_line: int


def blocks(text: str) -> list[Token]:
    """The block tokens of a MyST text, with the plug-ins that MyST itself is made of."""
    return _PARSER.parse(text)


def directive(token: Token, line: int = 0) -> Directive | None:
    """The directive that a fence or colon fence stands for; None for any other token.

    Args:
        token: from `blocks`.
        line: number of the line that the parsed text began on.

    Raises:
        MystError: its options are not well formed; names the line, but not the file.
    """
    if token.type not in ("fence", "colon_fence"):
        return None
    named = re.match(r"\{([\w:+.-]+)\}\s*(.*)", token.info.strip())
    if not named or token.map is None:
        return None
    name, argument = named.groups()
    start = line + token.map[0]
    # As MyST does it: a block that another one opens has no options, though it begins with a colon.
    added = "\n" if token.content.startswith(":::") else ""
    kind = _Note if name in NOTES else _Titled
    read = parse_directive_text(kind, argument, added + token.content, validate_options=name not in CELLS)
    if read.warnings:
        raise MystError(f"line {start + 1}: {{{name}}}: {read.warnings[0].msg}")
    blank = next((count for count, text in enumerate(read.body) if text.strip()), 0)
    body = "\n".join(read.body[blank:]).rstrip("\n")
    above = start if kind is _Note and argument else start + 1 + read.body_offset - len(added)
    return Directive(name, " ".join(read.arguments), read.options, body, start, above + blank)


def directives(text: str, line: int = 0) -> Iterator[Directive]:
    """All directives of a MyST text, each before those that stand in it. Raises MystError, as `directive` does."""
    for token in blocks(text):
        found = directive(token, line)
        if found:
            yield found
            if found.name not in (*CELLS, *LEAVES):
                yield from directives(found.body, found.body_line)


def titles(text: str) -> list[str]:
    """The titles of a page's sections, at any depth, without that of the page."""
    tokens = blocks(text)
    pairs = zip(tokens, tokens[1:], strict=False)
    return [after.content for token, after in pairs if token.type == "heading_open" and token.tag != "h1"]


def replace_spans(text: str, replace_role, replace_text) -> str:
    """Rewrite inline text around its code spans.

    Args:
        text: a paragraph, a heading, a row of a table.
        replace_role: called with (role, content, offset in text) of each role; its result takes the role's place.
        replace_text: called with every stretch between spans and roles. Plain code spans stay as they are.
    """
    done, at = [], 0
    for span in _SPAN.finditer(text):
        done.append(replace_text(text[at : span.start()]))
        done.append(replace_role(span["role"], span["content"], span.start()) if span["role"] else span[0])
        at = span.end()
    return "".join([*done, replace_text(text[at:])])


def text_and_target(content: str) -> tuple[str, str]:
    """The two halves of a role's `text <target>`; the text is empty where only the target is given."""
    both = _TEXT_AND_TARGET.fullmatch(content.strip())
    return (both["text"], both["target"].strip()) if both else ("", content.strip())


def _parser():
    parser = MarkdownIt("commonmark").enable("table")
    for plugin in (front_matter_plugin, myst_block_plugin, myst_role_plugin, colon_fence_plugin, amsmath_plugin):
        parser.use(plugin)
    return parser.use(dollarmath_plugin, allow_labels=True, double_inline=True)


_PARSER = _parser()
