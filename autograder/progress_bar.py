"""Report how far a long run is: a bar on a terminal, otherwise a line now and then."""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
LINES = 10


def with_progress(things: Collection[T], doing: str, unit: str) -> Iterator[T]:
    """Yield the things one by one, and write to stderr how many are done."""
    for (thing,) in batches_with_progress(([thing] for thing in things), len(things), doing, unit):
        yield thing


def batches_with_progress(batches: Iterable[Sequence[T]], total: int, doing: str, unit: str) -> Iterator[Sequence[T]]:
    """Yield the batches, and write to stderr how many of all things are done."""
    done, silent = 0, not sys.stderr.isatty()
    with tqdm(total=total, desc=doing, unit=f" {unit}", leave=False, disable=silent) as bar:
        for batch in batches:
            yield batch
            before, done = done, done + len(batch)
            bar.update(len(batch))
            if silent and done * LINES // total > before * LINES // total:
                print(f"{doing}: {done} of {total} {unit}", file=sys.stderr, flush=True)
