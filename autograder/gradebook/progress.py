"""Report how far a long run is: a bar on a terminal, otherwise a line now and then."""

import sys
from collections.abc import Collection, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
LINES = 10


def with_progress(things: Collection[T], doing: str, unit: str) -> Iterator[T]:
    """Yield the things one after the other, and write to stderr how many are done."""
    if sys.stderr.isatty():
        yield from tqdm(things, desc=doing, unit=f" {unit}", leave=False)
        return
    for done, thing in enumerate(things, start=1):
        yield thing
        if done * LINES // len(things) > (done - 1) * LINES // len(things):
            print(f"{doing}: {done} of {len(things)} {unit}", file=sys.stderr, flush=True)
