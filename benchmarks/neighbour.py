"""Measure how much a submission that fills the processors with threads slows an honest one beside it.

    .venv/bin/python benchmarks/neighbour.py [--chapter 01_attention] [--threads 4] [--times 5]

The honest submission is graded alone and beside the busy one, in turns. The benchmark prints both medians and their
ratio. It asserts nothing, because times depend on the machine.
"""

import argparse
import io
import statistics
import tempfile
import threading
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

from autograder.course.seed import secret_seed
from autograder.example import example_class
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.grade import grade_submission
from autograder.grading.submitted_file import File
from autograder.release.publish import publish
from autograder.sandbox import Call, Cell, Limits, run

BUSY = """\
import hashlib, threading

def burn():
    block = bytes(2**24)
    while True:
        hashlib.sha256(block)

def f():
    for _ in range({threads} - 1):
        threading.Thread(target=burn, daemon=True).start()
    burn()
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapter", default="01_attention")
    parser.add_argument("--threads", type=int, default=Limits().threads, help="of the busy submission")
    parser.add_argument("--times", type=int, default=5, help="how often each is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bundle, seconds_of_honest = prepared(Path(folder), options.chapter)
        alone, beside = [], []
        for _ in range(options.times):
            alone.append(seconds_of_honest())
            with busy_neighbour(bundle, options.threads):
                beside.append(seconds_of_honest())
    one, other = statistics.median(alone), statistics.median(beside)
    print(
        f"{options.chapter}: {one:.2f} s alone, {other:.2f} s beside {options.threads} threads: {other / one:.1f} times"
    )


def prepared(folder, chapter):
    """Return the folder of a chapter's bundle, and a function that returns how long a perfect notebook's grading takes.

    That function prints a line if the notebook does not get all points.
    """
    course = folder / "course"
    publish(course, [chapter])
    content = next(e.content for e in example_class.examples(course, chapter) if e.student == "perfect")
    assignment = open_assignment(course, chapter, secret_seed(course))
    for name in ("bundle", "solutions"):
        zipfile.ZipFile(io.BytesIO(getattr(assignment, name))).extractall(folder / name)
    file = File(content)
    seeds = seeds_of(file, assignment.released, secret_seed(course))

    def seconds_of_honest():
        started = time.perf_counter()
        report = grade_submission(file, seeds, assignment, folder / "bundle", folder / "solutions")
        if report.earned != report.points:
            print(f"the honest submission got {report.earned:g} of {report.points:g} points: {report.log}")
        return time.perf_counter() - started

    return folder / "bundle", seconds_of_honest


@contextmanager
def busy_neighbour(bundle, threads):
    """Run a submission with this many threads, and again, until the block ends."""
    finished = threading.Event()
    limits = Limits(threads=threads)

    def keep_running():
        while not finished.is_set():
            run([Cell("busy", BUSY.format(threads=threads))], [Call("f", {})], bundle=bundle, limits=limits)

    neighbour = threading.Thread(target=keep_running)
    neighbour.start()
    try:
        yield
    finally:
        finished.set()
        neighbour.join()


if __name__ == "__main__":
    main()
