"""Comment out the notebook commands in a student's cell, such as `%timeit softmax(x)`, `!pip list` or `softmax?`.

All lines keep their numbers. This neither runs nor compiles the source.
"""

import re
import tokenize
from collections.abc import Sequence

from check.source_tokens import tokens

COMMAND = re.compile(r"\s*+(?:[%!?]|[\w.\[\]]+\?{1,2}\s*$|[\w.,\s]+=\s*(?:!|%\w))")
# Commands for a whole cell that run the rest of the cell as Python.
RUNS_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")


def without_magics(source: str) -> tuple[str, tuple[str, ...]]:
    """Return a cell's source with its notebook commands commented out, and those commands."""
    lines = source.split("\n")
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%") and not first.startswith(RUNS_PYTHON):
        return "\n".join(f"# {line}" for line in lines), (first.strip(),)
    candidates = [i for i, line in enumerate(lines) if COMMAND.match(line)]
    continued = _continuation_lines(source) if candidates else ()
    commands = []
    for i in candidates:
        if i + 1 in continued:
            continue
        end = _end(lines, i)
        commands.append(" ".join(line.removesuffix("\\").strip() for line in lines[i:end]))
        indent = len(lines[i]) - len(lines[i].lstrip())
        # An indented command may be the only statement of its block, so `pass` takes its place.
        lines[i] = lines[i][:indent] + ("pass  # " if indent else "# ") + lines[i].lstrip()
        lines[i + 1 : end] = [f"# {line}" for line in lines[i + 1 : end]]
    return "\n".join(lines), tuple(commands)


def _end(lines: Sequence[str], start: int) -> int:
    """Return the index after the last line of a command. A backslash continues a command on the next line."""
    return next((i + 1 for i in range(start, len(lines)) if not lines[i].endswith("\\")), len(lines))


def _continuation_lines(source: str) -> set[int]:
    """Return the numbers of the lines that continue a bracket or a string. There a leading % is an operator."""
    depth, previous = 0, 0
    continued = {number + 1 for number, line in enumerate(source.split("\n"), start=1) if line.endswith("\\")}
    try:
        for token in tokens(source):
            if depth and token.start[0] > previous:
                continued.update(range(previous + 1, token.start[0] + 1))
            continued.update(range(token.start[0] + 1, token.end[0] + 1) if token.type == tokenize.STRING else ())
            previous = token.end[0]
            if token.type == tokenize.OP:
                depth = max(0, depth + (token.string in "([{") - (token.string in ")]}"))
    except (tokenize.TokenError, SyntaxError):
        pass  # keep the lines that were recognised before the error
    return continued
