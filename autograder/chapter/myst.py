"""Parse MyST Markdown into blocks, directives and inline roles, each with its line number."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
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
LEAVES = ("code", "code-block", "figure", "list-table", "math", "table")  # directives that contain no other blocks
NOTES = ("note", "tip", "important", "warning", "seealso")  # text after such a name is the first line of the body
# A code span, and the role in front of it if there is one. A span may continue on the next line.
_SPAN = re.compile(
    r"(?:\{(?P<role>[\w:+.-]+)\})? (?<!`)(?P<ticks>`+)(?!`) (?P<content>.+?) (?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.VERBOSE,
)
_TEXT_AND_TARGET = re.compile(r"(?P<text>.*\S)\s*<(?P<target>[^<>]+)>", re.DOTALL)


class MystError(UserError):
    """A chapter contains something malformed, or something that has no plain form; the message gives file and line."""


class _Titled(TestDirective):
    """Tell MyST's parser to accept every option as text. The converter decides what the options mean."""


class _Note(_Titled):
    """A directive without a title."""

    optional_arguments = 0


@dataclass(frozen=True)
class Directive:
    """A block that begins with `:::{name} argument`.

    options: from lines of `:option: value`, or from YAML between two lines of `---`. Their values are strings, except
        that a cell's options always have the types of YAML.
    line, body_line: where the directive and its body begin, counted from 0.
    """

    name: str
    argument: str
    options: dict[str, Any]
    body: str
    line: int
    body_line: int


_parse_directive = cache(parse_directive_text)  # like `blocks`, because each release of a chapter reads all pages


@cache
def blocks(text: str) -> tuple[Token, ...]:
    """Return the block tokens of a MyST text, parsed with the plug-ins that MyST itself uses. Do not change them."""
    return tuple(_PARSER.parse(text))


def directive(token: Token, line: int = 0) -> Directive | None:
    """Return the directive of a fence or colon fence; None for any other token.

    token: from `blocks`. line: number of the line on which the parsed text begins.

    Raises MystError if the options are malformed; the message gives the line, but not the file.
    """
    if token.type not in ("fence", "colon_fence"):
        return None
    match = re.match(r"\{([\w:+.-]+)\}\s*(.*)", token.info.strip())
    if not match or token.map is None:
        return None
    name, argument = match.groups()
    start = line + token.map[0]
    # Like MyST, read no options if the content begins with another colon fence.
    first_line = "\n" if token.content.startswith(":::") else ""
    kind = _Note if name in NOTES else _Titled
    parsed = _parse_directive(kind, argument, first_line + token.content, validate_options=name not in CELLS)
    if parsed.warnings:
        raise MystError(f"line {start + 1}: {{{name}}}: {parsed.warnings[0].msg}")
    blank_lines = next((number for number, text in enumerate(parsed.body) if text.strip()), 0)
    body = "\n".join(parsed.body[blank_lines:]).rstrip("\n")
    content_line = start if kind is _Note and argument else start + 1 + parsed.body_offset - len(first_line)
    return Directive(name, " ".join(parsed.arguments), parsed.options, body, start, content_line + blank_lines)


def directives(text: str, line: int = 0) -> Iterator[Directive]:
    """Yield all directives of a MyST text, outer ones before inner ones. Raises MystError, as `directive` does."""
    for token in blocks(text):
        block = directive(token, line)
        if block:
            yield block
            if block.name not in (*CELLS, *LEAVES):
                yield from directives(block.body, block.body_line)


def section_titles(text: str) -> list[str]:
    """Return the titles of a page's sections at all depths, without the title of the page."""
    tokens = blocks(text)
    pairs = zip(tokens, tokens[1:], strict=False)
    return [after.content for token, after in pairs if token.type == "heading_open" and token.tag != "h1"]


def replace_spans(text: str, replace_role: Callable[[str, str, int], str], replace_text: Callable[[str], str]) -> str:
    """Return inline text with its roles and the text between them replaced. Code spans without a role do not change.

    text: a paragraph, a heading, or a row of a table. replace_role: called with role, content and offset in the text.
    replace_text: called with the text between two spans.
    """
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts.append(replace_text(text[end : span.start()]))
        parts.append(replace_role(span["role"], span["content"], span.start()) if span["role"] else span[0])
        end = span.end()
    return "".join([*parts, replace_text(text[end:])])


def text_and_target(content: str) -> tuple[str, str]:
    """Return the two parts of a role's content `text <target>`; the text is "" if there is only a target."""
    match = _TEXT_AND_TARGET.fullmatch(content.strip())
    return (match["text"], match["target"].strip()) if match else ("", content.strip())


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    for plugin in (front_matter_plugin, myst_block_plugin, myst_role_plugin, colon_fence_plugin, amsmath_plugin):
        parser.use(plugin)
    return parser.use(dollarmath_plugin, allow_labels=True, double_inline=True)


_PARSER = _parser()
