"""Report how far a long run is: a bar on a terminal, otherwise a line now and then."""

import sys
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
LINES = 10


def with_progress(things: Collection[T], doing: str, unit: str) -> Iterator[T]:
    """Yield the things one by one, and write to stderr how many are done."""
    for (thing,) in batches_with_progress(things, 1, doing, unit):
        yield thing


def batches_with_progress(things: Collection[T], size: int, doing: str, unit: str) -> Iterator[list[T]]:
    """Yield lists of `size` things, and write to stderr how many things are done. The last list may be shorter."""
    remaining, done, total = iter(things), 0, len(things)
    silent = not sys.stderr.isatty()
    with tqdm(total=total, desc=doing, unit=f" {unit}", leave=False, disable=silent) as bar:
        while batch := list(islice(remaining, size)):
            yield batch
            before, done = done, done + len(batch)
            bar.update(len(batch))
            if silent and done * LINES // total > before * LINES // total:
                print(f"{doing}: {done} of {total} {unit}", file=sys.stderr, flush=True)
