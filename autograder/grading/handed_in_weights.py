"""Find the weights that `hand_in` packed into an output of a notebook. Grading reads no other outputs."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

from autograder.grading.notebook_file import as_dict, as_list
from autograder.grading.submitted_file import File
from check.handing_in import LINK
from check.weights_file import MAX_BYTES

RUN_IT = "Run the cell `hand_in(params, recipe)`, save the notebook with its outputs, and hand it in again."


def weights_in(cells: Sequence[Any]) -> File:
    """Return the last file of weights in the outputs of these cells, or the reason why there is none.

    cells: a notebook's cells as JSON, which may contain anything.
    """
    links = list(_links(cells))
    if not links:
        cleared = not any(as_list(as_dict(cell).get("outputs")) for cell in cells)
        why = " All of its outputs were cleared." if cleared else ""
        return File(trouble=f"The notebook holds no weights.{why} {RUN_IT}")
    text = links[-1]
    if len(text) > 4 * MAX_BYTES:
        return File(trouble=f"The file of weights has more than {MAX_BYTES:,} bytes. {RUN_IT}")
    try:
        return File(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return File(trouble=f"The weights in the output were changed after `hand_in`. {RUN_IT}")


def _links(cells: Sequence[Any]) -> Iterator[str]:
    """Yield the base64 text of each file of weights, in order."""
    for cell in cells:
        for output in as_list(as_dict(cell).get("outputs")):
            html = as_dict(as_dict(output).get("data")).get("text/html", "")
            html = "".join(line for line in html if isinstance(line, str)) if isinstance(html, list) else html
            if isinstance(html, str) and LINK in html:
                yield html.rpartition(LINK)[2].partition('"')[0]
