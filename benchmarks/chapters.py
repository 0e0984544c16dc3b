"""Grade the example class of every chapter, one submission at a time, and print where the processor time goes.

    .venv/bin/python benchmarks/chapters.py [--chapters 01_attention 08_model] [--rounds 3]

The table is in Markdown, as in README.md. All times are processor time in milliseconds, the median of the rounds: on a
busy machine the clock on the wall says little. The first round, which starts the warm sandboxes, does not count. The
benchmark writes no gradebook and asserts nothing.
"""

import argparse
import io
import os
import statistics
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from autograder.course.seed import secret_seed
from autograder.example import example_class
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.grade import grade_submission
from autograder.grading.submitted_file import File
from autograder.layout import chapter_names
from autograder.release.publish import publish
from autograder.sandbox import process, references, submission

RIGHT = "perfect"
WRONG = ("mistake-1", "mistake-2", "unknown-mistake")  # one wrong function each
OTHERS = ("blank", "half-done", "by-loops", "noisy")
HEADS = ("chapter", "right", "one wrong", "ratio", "all", "of it grader", "student code", "reference", "processes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapters", nargs="+", default=list(chapter_names()))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for chapter in options.chapters:
            course = Path(folder, chapter)
            publish(course, [chapter])
            print(f"| {' | '.join(line(chapter, times_of(course, chapter, options.rounds)))} |", flush=True)


def line(chapter, times):
    """Return the cells of a chapter's line. times: student -> Counter of milliseconds by part."""
    total = {student: spent["grader"] + spent["student"] + spent["reference"] for student, spent in times.items()}
    wrong = statistics.mean(total[student] for student in WRONG)
    means = [statistics.mean(values) for values in (total.values(), *(
        [spent[part] for spent in times.values()] for part in ("grader", "student", "reference", "processes")
    ))]  # fmt: skip
    return [
        chapter, f"{total[RIGHT]:.0f}", f"{wrong:.0f}", f"{wrong / total[RIGHT]:.2f}",
        *(f"{value:.0f}" for value in means[:-1]), f"{means[-1]:.1f}",
    ]  # fmt: skip


def times_of(course, chapter, rounds):
    """Return student -> Counter of milliseconds by part, and the number of processes, for one submission each."""
    seed = secret_seed(course)
    assignment = open_assignment(course, chapter, seed)
    contents = {example.student: example.content for example in example_class.examples(course, chapter)}
    times = {}
    with tempfile.TemporaryDirectory() as folder, timed_processes() as spent:
        bundle, solutions = Path(folder, "bundle"), Path(folder, "solutions")
        for archive, place in ((assignment.bundle, bundle), (assignment.solutions, solutions)):
            zipfile.ZipFile(io.BytesIO(archive)).extractall(place)
        for student in (RIGHT, *WRONG, *OTHERS):
            file, measured = File(contents[student]), []
            for _ in range(rounds + 1):
                spent.clear()
                started = time.thread_time()
                grade_submission(file, seeds_of(file, assignment.released, seed), assignment, bundle, solutions)
                spent["grader"] = 1000 * (time.thread_time() - started)
                measured.append(spent.copy())
            parts = {part for counter in measured for part in counter}
            times[student] = Counter({part: statistics.median(m[part] for m in measured[1:]) for part in parts})
    return times


class timed_processes(ExitStack):
    """Add up the processor time of the sandboxed processes: student code, and the reference that answers for it."""

    def __enter__(self):
        super().__enter__()
        spent = Counter()
        for module, part in ((submission, "student"), (references, "reference")):
            self.enter_context(mock.patch.object(module, "Process", timed(process.Process, part, spent)))
        return spent


def timed(kind, part, spent):
    """Return a subclass of Process that adds its milliseconds to `spent[part]` when it ends."""

    class Timed(kind):
        def end(self):
            spent[part] += milliseconds(self._launched.started.python_pid())
            spent["processes"] += 1
            super().end()

    return Timed


def milliseconds(pid):
    """Return the processor time of a process so far, to the nanosecond; 0 if it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return sum(int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) for thread in threads) / 1e6
    except OSError:
        return 0.0


if __name__ == "__main__":
    main()
