"""Parse the file of a submitted notebook, from its bytes to a list of cells, in formats 4 and 3.

The cells themselves may still contain any JSON value.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from autograder.grading.submitted_file import CLEAR
from check.words import quoted, size

LARGE_BYTES = 20_000_000
BLOCK_BYTES = 1_000_000
MAX_VALUES = 3_000_000  # a value of a few bytes in JSON takes about a hundred bytes in memory
_LINE_ENDINGS_BYTES = 100_000  # enough of a file to recognise its line endings
_BYTE_ORDER_MARK = codecs.BOM_UTF8
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


class NotANotebook(ValueError):
    """A file cannot be read as a notebook. The message says why, and what to do."""


def parse(raw: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Return the JSON of a notebook, and its cells. Raises NotANotebook and no other exception."""
    if sum(map(raw.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise NotANotebook(f"The file holds more than {MAX_VALUES} values, nearly all of them output. {CLEAR}")
    try:
        notebook = _json(raw)
    except (ValueError, RecursionError) as error:
        raise NotANotebook(_why_not_json(raw, error)) from error
    cells = _cells(notebook)
    if cells is None:
        raise NotANotebook("The file is readable, but it is not a notebook: it holds no list of cells.")
    return notebook, cells


def notes(raw: bytes, notebook: dict[str, Any], kernel: str) -> Iterator[str]:
    """Yield a sentence for each unusual property of a notebook's file. kernel: the kernel that the chapter asks for."""
    if _is_large_utf8(raw):
        yield f"The file is {size(len(raw))}, nearly all of it output. Clear the outputs before you hand in."
    if raw.startswith(_BYTE_ORDER_MARK):
        yield "The file starts with a byte-order mark, which was ignored."
    if b"\r\n" in raw[:_LINE_ENDINGS_BYTES] or rb"\r\n" in raw[:_LINE_ENDINGS_BYTES]:
        yield "The file has Windows line endings, which were converted."
    if "worksheets" in notebook:
        yield "The file is a notebook of the old format 3; it was converted."
    requested = as_dict(as_dict(notebook.get("metadata")).get("kernelspec")).get("name", kernel)
    if requested != kernel:
        yield f"The notebook asks for the kernel {quoted(requested)}; it was graded with {kernel}."


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, or else an empty list."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is a dict, or else an empty dict."""
    return value if isinstance(value, dict) else {}


def _json(raw: bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, RecursionError.

    Python stores a text with one, two or four bytes for each character, depending on its widest character. A single
    emoji would make a large file take four times the memory. In a large file we therefore first replace text beyond
    ASCII by escapes of JSON. We do so block by block, because `sub` keeps an object for every match until it ends.
    """
    if _is_large_utf8(raw):
        blocks = (_BEYOND_ASCII.sub(_escaped, block) for block in _blocks(raw.removeprefix(_BYTE_ORDER_MARK)))
        return json.loads(b"".join(blocks).decode("ascii"))
    return json.loads(raw)


def _blocks(raw: bytes) -> Iterator[bytes]:
    """Yield a text in UTF-8 in blocks that end between two characters."""
    start = 0
    while start < len(raw):
        end = start + BLOCK_BYTES
        # A character has at most three bytes after its first.
        end -= next((n for n in range(4) if not raw[end - n : end - n + 1] or raw[end - n] >> 6 != 0b10), 0)
        yield raw[start:end]
        start = end


def _is_large_utf8(raw: bytes) -> bool:
    return len(raw) > LARGE_BYTES and json.detect_encoding(raw).startswith("utf-8")


def _escaped(match: re.Match[bytes]) -> bytes:
    return json.dumps(match[0].decode("utf-8", "surrogatepass"))[1:-1].encode("ascii")


def _why_not_json(raw: bytes, error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        # If a bracket or a string is still open at the very end, the file was cut off.
        if raw.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] == b"{" and (
            error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated string")
        ):
            return "The file ends in the middle: it was cut off while it was saved or sent. Hand it in again."
        return (
            f"The file is not a notebook: line {error.lineno} is not JSON. Hand in the .ipynb file that Jupyter saves."
        )
    return "The file is not a notebook: it cannot be read as JSON. Hand in the .ipynb file that Jupyter saves."


def _cells(notebook: Any) -> list[Any] | None:
    """Return the cells of a notebook of format 4 or 3, or None if this is not a notebook."""
    if not isinstance(notebook, dict):
        return None
    if isinstance(sheets := notebook.get("worksheets"), list):
        return [cell for sheet in sheets if isinstance(sheet, dict) for cell in as_list(sheet.get("cells"))]
    cells = notebook.get("cells")
    return cells if isinstance(cells, list) else None
