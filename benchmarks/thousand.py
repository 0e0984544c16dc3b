"""Grade a class of 100 and one of 1,000 students with one command each, and print time, memory and time per part.

    .venv/bin/python benchmarks/thousand.py [--sizes 100 1000] [--jobs 1 2]

The benchmark compares the numbers of --jobs on the smallest class. For that comparison it only grades, and writes
nothing. It asserts nothing, because times depend on the machine.
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import psutil
from sqlalchemy import event
from sqlalchemy.engine import Engine

from autograder.example import example_class
from autograder.gradebook import class_run, plugin, write
from autograder.grading import follow_through, grade, questions, reading
from autograder.grading.client import connected
from autograder.grading.queue import open_queue, submissions
from autograder.release.publish import publish

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
    ("explaining", questions, "explained"),
    ("writing, with the database", write.Writer, "write"),
    ("rebuilding the notebook", plugin, "rebuild"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        publish(course, [CHAPTER])
        courses = {size: with_class(course, Path(folder, str(size)), size) for size in options.sizes}
        smallest = courses[min(courses)]
        rates = {jobs: min(options.sizes) / seconds_without_writing(smallest, jobs) for jobs in options.jobs}
        for jobs, rate in rates.items():
            print(
                f"grading alone, {jobs} at a time: {60 * rate:.0f} a minute, {rate / rates[options.jobs[0]]:.2f} times"
            )
        seconds = {size: seconds_of_command(course, size) for size, course in courses.items()}
    smallest, largest = min(seconds), max(seconds)
    ratio = seconds[largest] / seconds[smallest]
    print(f"\n{largest} submissions took {ratio:.1f} times as long as {smallest}")


def with_class(released, course, size):
    """Return a copy of the course with `size` submissions, each with different bytes."""
    shutil.copytree(released, course)
    content = {example.student: example.content for example in example_class.examples(course, CHAPTER)}
    for number in range(size):
        path = course / "submitted" / f"student-{number:04d}" / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content[STUDENTS[number % len(STUDENTS)]] + b"\n" * number)
    return course


def seconds_without_writing(course, jobs):
    """Return the seconds until every report is written. The reports are then deleted."""
    with connected(jobs=jobs) as client:
        grader = open_queue(course, CHAPTER, client, force=True)
        started = time.perf_counter()
        paths = submissions(course, CHAPTER).values()
        grader.expect(paths)
        for path in paths:
            grader.graded(path)
        seconds = time.perf_counter() - started
    shutil.rmtree(course / "reports")
    return seconds


def seconds_of_command(course, size):
    """Grade a class as the command does, and print its time and memory. Return the seconds."""
    spent = Counter()
    with timed(spent), memory_samples() as memory:
        started = time.perf_counter()
        class_run.grade_class(course, CHAPTER)
        seconds = time.perf_counter() - started
    print(f"\n{size} submissions: {seconds:.0f} s, {60 * size / seconds:.0f} a minute; {os.cpu_count()} processors")
    quarters = [max(memory[i * len(memory) // 4 : (i + 1) * len(memory) // 4 + 1]) / MB for i in range(4)]
    print(f"  memory, highest in each quarter of the run: {', '.join(f'{peak:.0f} MB' for peak in quarters)}")
    for part, part_seconds in spent.most_common():
        print(f"  {part}: {1000 * part_seconds / size:.1f} ms a submission")
    return seconds


@contextmanager
def timed(spent):
    """Add up the seconds of each part of grading. Parts run in parallel, and writing includes the database."""

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
    """Return the function, changed so that it adds its seconds to `spent[part]`."""

    def call(*args, **kwargs):
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[part] += time.perf_counter() - started

    return call


def begin_query(connection, cursor, statement, parameters, context, many):
    context.started = time.perf_counter()


@contextmanager
def memory_samples():
    """Yield a list that gets this process's memory ten times a second, without the memory of its sandboxes."""
    memory, finished = [], threading.Event()

    def sample():
        process = psutil.Process()
        while not finished.wait(0.1):
            memory.append(process.memory_info().rss)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield memory
    finally:
        finished.set()
        sampler.join()


if __name__ == "__main__":
    main()
