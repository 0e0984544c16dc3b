"""Time `autograder grade` as a whole command on a class of each chapter, and print the times of one submission.

    .venv/bin/python benchmarks/classes.py [--chapters 01_attention 08_model] [--submissions 45] [--rounds 3] [--dask 4]

The table is in Markdown: for each chapter the median over the rounds, then the least and the greatest. "Again" is a
second command, which finds nothing new. The last line adds up the chapters for a class of 1,000. With --dask, the same
commands also run on that many worker processes of a Dask cluster on this machine, in turns with the usual ones. The
processor time is that of the whole machine, so nothing else should run. The benchmark asserts nothing, because times
depend on the machine.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from autograder.layout import chapter_names
from autograder.release.publish import publish
from benchmarks.timing import grade_command, hand_in, seconds_of

# One right notebook, three with one wrong function each, and four others.
STUDENTS = (
    *("perfect", "mistake-1", "mistake-2", "unknown-mistake"),
    *("blank", "half-done", "by-loops", "noisy"),
)
MS = 1000
ENDED = 0.5  # seconds that the kernel needs to end a command's workers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapters", nargs="+", default=list(chapter_names()))
    parser.add_argument("--submissions", type=int, default=45)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dask", type=int, metavar="WORKERS")
    options = parser.parse_args()
    heads = ("chapter", "wall, ms each", "processor, ms each", "again, s", *(["Dask, ms each"] if options.dask else []))
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    walls = []
    with tempfile.TemporaryDirectory() as folder, cluster(options.dask) as dask:
        for chapter in options.chapters:
            course = Path(folder, chapter)
            publish(course, [chapter])
            hand_in(course, options.submissions, chapter, STUDENTS)
            rounds = [times(course, chapter, dask and dask.scheduler_address) for _ in range(options.rounds)]
            columns = list(zip(*rounds, strict=True))
            scales = (MS / options.submissions, MS / options.submissions, 1, MS / options.submissions)
            shown = (spread(column, scale) for column, scale in zip(columns, scales, strict=False))
            print(f"| {chapter} | {' | '.join(shown)} |", flush=True)
            walls.append(statistics.median(columns[0]) / options.submissions)
    print(f"\n1,000 submissions of each: {1000 * sum(walls) / 60:.1f} minutes; {os.cpu_count()} processors")


def cluster(workers):
    """Open a Dask cluster of `workers` processes on this machine, as a context; without workers, do nothing."""
    if not workers:
        return nullcontext()
    from dask.distributed import LocalCluster  # importing it takes a second

    return LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)


def times(course, chapter, scheduler):
    """Return the seconds of one grading: on the wall, of processors, of a second command, and on Dask's workers."""
    with tempfile.TemporaryDirectory(dir=course.parent) as folder:
        local = shutil.copytree(course, Path(folder, "local"))
        before = processor_seconds()
        wall = seconds_of(grade_command(local, chapter))
        processor = processor_seconds() - before
        again = seconds_of(grade_command(local, chapter))
        if not scheduler:
            return wall, processor, again
        remote = shutil.copytree(course, Path(folder, "remote"))
        return wall, processor, again, seconds_of(grade_command(remote, chapter, "--scheduler", scheduler))


def processor_seconds():
    """Return how long this machine's processors have worked, for any program.

    A sum over processes would miss those of a sandbox: they are killed, and the kernel adds their time to no parent's.
    """
    time.sleep(ENDED)
    spent = psutil.cpu_times()
    return spent.user + spent.nice + spent.system + spent.irq + spent.softirq


def spread(values, scale):
    """Return the median, the least and the greatest, to four digits."""
    return "{:.4g} ({:.4g} to {:.4g})".format(*(scale * f(values) for f in (statistics.median, min, max)))


if __name__ == "__main__":
    main()
