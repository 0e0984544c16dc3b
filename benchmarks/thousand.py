"""Grade a class of 100 and one of 1,000 students, one command each, and print time, memory and the time of each part.

    .venv/bin/python benchmarks/thousand.py [--sizes 100 1000] [--rounds 3]

The memory is that of the command and all its processes, including sandboxes; what several of them share counts once.
For the parts, the smallest class is graded once more, one submission at a time. The benchmark asserts nothing, because
times depend on the machine.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest import mock

import psutil
from sqlalchemy import event
from sqlalchemy.engine import Engine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from autograder.gradebook import batch_writer, class_run, write
from autograder.grading import follow_through, grade, judging, own_process, reading
from autograder.layout import REPO
from autograder.release.publish import publish
from benchmarks.timing import grade_command, hand_in

CHAPTER = "01_attention"
# The students of the example class whose code ends by itself. Endless code would measure its time limit.
STUDENTS = ("perfect", "blank", "half-done", "by-loops", "noisy", "mistake-1", "mistake-2", "unknown-mistake", "cheat")
MB = 2**20
# What is timed: a name for the part, and the function that does it. Several functions may share a name.
PARTS = [
    ("reading", reading, "read_submission"),
    ("sandbox (start, NumPy, the student's code)", grade, "run"),
    ("judging", grade, "judge_exercise"),
    ("judging", follow_through, "judge_exercise"),
    ("explaining", judging, "explain"),
    ("writing, with the database", write.Writer, "write"),
    ("rebuilding the notebook", batch_writer, "rebuild"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    seconds = {size: [] for size in options.sizes}
    with tempfile.TemporaryDirectory() as folder:
        released = Path(folder, "course")
        publish(released, [CHAPTER])
        courses = {size: shutil.copytree(released, Path(folder, str(size))) for size in options.sizes}
        for size, course in courses.items():
            hand_in(course, size, CHAPTER, STUDENTS)
        for number in range(options.rounds):
            for size, course in courses.items():
                graded = shutil.copytree(course, Path(folder, "graded"))
                seconds[size].append(seconds_of_command(graded, size, number + 1))
                shutil.rmtree(graded)
        print_parts(courses[min(courses)], min(courses))
    median = {size: statistics.median(times) for size, times in seconds.items()}
    for size, times in seconds.items():
        print(f"{size} submissions: {median[size]:.0f} s ({min(times):.0f} to {max(times):.0f})")
    smallest, largest = min(median), max(median)
    print(f"{largest} submissions took {median[largest] / median[smallest]:.1f} times as long as {smallest}")


def seconds_of_command(course, size, number):
    """Grade a class with a command, and print its time and memory. Return the seconds."""
    command = grade_command(course, CHAPTER)
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as grading:
        memory = list(memory_samples(grading))
    seconds = time.perf_counter() - started
    if grading.returncode:
        sys.exit(f"{' '.join(command)} ended with {grading.returncode}")
    quarters = [max(memory[i * len(memory) // 4 : (i + 1) * len(memory) // 4 + 1]) / MB for i in range(4)]
    print(
        f"round {number}, {size} submissions: {seconds:.0f} s, {60 * size / seconds:.0f} a minute, "
        f"{os.cpu_count()} processors; memory, highest in each quarter: "
        f"{', '.join(f'{peak:.0f}' for peak in quarters)} MB",
        flush=True,
    )
    return seconds


def memory_samples(grading):
    """Yield the memory of a process and its descendants once a second, until it ends."""
    while grading.poll() is None:
        process = psutil.Process(grading.pid)
        yield sum(map(proportional_memory, [process, *process.children(recursive=True)]))
        with suppress(subprocess.TimeoutExpired):
            grading.wait(timeout=1)


def proportional_memory(process):
    """Return a process's own memory and its share of what it shares, in bytes; 0 if it is gone."""
    try:
        return process.memory_full_info().pss
    except psutil.Error:
        return 0


def print_parts(course, size):
    """Grade a class in this process, one submission at a time, and print the time of each part."""
    spent = Counter()
    with timed(spent), mock.patch.object(own_process, "CALLS_BEFORE_OWN_PROCESS", size):
        class_run.grade_class(course, CHAPTER, jobs=1)
    print(f"\n{size} submissions, one at a time:")
    for part, seconds in spent.most_common():
        print(f"  {part}: {1000 * seconds / size:.1f} ms a submission")


@contextmanager
def timed(spent):
    """Add up the seconds of each part of grading. One submission is written while another is graded."""

    def end_query(connection, cursor, statement, parameters, context, many):
        spent["the database alone"] += time.perf_counter() - context.started

    listeners = {"before_cursor_execute": begin_query, "after_cursor_execute": end_query}
    with ExitStack() as stack:
        for part, owner, name in PARTS:
            stack.enter_context(mock.patch.object(owner, name, timer(spent, part, getattr(owner, name))))
        for moment, listener in listeners.items():
            event.listen(Engine, moment, listener)
            stack.callback(event.remove, Engine, moment, listener)
        yield


def timer(spent, part, function):
    """Wrap a function so that it adds its seconds to `spent[part]`."""

    def call(*args, **kwargs):
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[part] += time.perf_counter() - started

    return call


def begin_query(connection, cursor, statement, parameters, context, many):
    context.started = time.perf_counter()


if __name__ == "__main__":
    main()
