"""Grade a class of 100 and one of 1,000 students with one command each, and print time, memory and time per part.

    .venv/bin/python benchmarks/thousand.py [--sizes 100 1000] [--jobs 1 2]

The benchmark compares the numbers of --jobs on the smallest class. There it grades and writes nothing. It asserts
nothing, because times depend on the machine.
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import psutil
from sqlalchemy import event
from sqlalchemy.engine import Engine

from autograder.example import example_class
from autograder.gradebook import class_run, plugin, write
from autograder.grading import grade, reading
from autograder.grading.cluster import connected
from autograder.grading.queue import open_queue, submissions
from autograder.release.publish import publish

CHAPTER = "01_attention"
# The students of the example class whose code ends by itself. Endless code would measure its time limit.
STUDENTS = ("perfect", "blank", "half-done", "by-loops", "noisy", "mistake-1", "mistake-2", "unknown-mistake", "cheat")
MB = 2**20


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
        rates = {jobs: min(options.sizes) / graded_only(smallest, jobs) for jobs in options.jobs}
        for jobs, rate in rates.items():
            print(
                f"grading alone, {jobs} at a time: {60 * rate:.0f} a minute, {rate / rates[options.jobs[0]]:.2f} times"
            )
        seconds = {size: whole(course, size) for size, course in courses.items()}
    first, last = min(seconds), max(seconds)
    print(f"\n{last} submissions took {seconds[last] / seconds[first]:.1f} times what {first} took")


def with_class(released, course, size):
    """Return a copy of the course with `size` submissions, each with other bytes."""
    shutil.copytree(released, course)
    content = {each.student: each.content for each in example_class.examples(course, CHAPTER)}
    for number in range(size):
        path = course / "submitted" / f"student-{number:04d}" / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content[STUDENTS[number % len(STUDENTS)]] + b"\n" * number)
    return course


def graded_only(course, jobs):
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


def whole(course, size):
    """Grade a class as the command does, and print its time and memory. Return the seconds."""
    spent = Counter()
    with timed(spent), watched() as memory:
        started = time.perf_counter()
        class_run.grade_class(course, CHAPTER)
        seconds = time.perf_counter() - started
    print(f"\n{size} submissions: {seconds:.0f} s, {60 * size / seconds:.0f} a minute; {os.cpu_count()} processors")
    quarters = [max(memory[i * len(memory) // 4 : (i + 1) * len(memory) // 4 + 1]) / MB for i in range(4)]
    print(f"  memory, highest in each quarter of the run: {', '.join(f'{peak:.0f} MB' for peak in quarters)}")
    for part, its_seconds in spent.most_common():
        print(f"  {part}: {1000 * its_seconds / size:.1f} ms a submission")
    return seconds


@contextmanager
def timed(spent):
    """Add up the seconds of each part of grading. Parts run in parallel, and the database's part is also in writing."""
    parts = {
        "reading": (reading, "read"),
        "sandbox (start, NumPy, the student's code)": (grade, "run"),
        "judging": (grade, "_results"),
        "writing, with the database": (write.Writer, "write"),
        "rebuilding the notebook": (plugin, "rebuild"),
    }
    before = {part: getattr(*where) for part, where in parts.items()}
    for part, (owner, name) in parts.items():
        setattr(owner, name, timer(spent, part, before[part]))
    event.listen(Engine, "before_cursor_execute", begin)
    event.listen(Engine, "after_cursor_execute", lambda *args: end(spent, args[4]))
    yield
    for part, (owner, name) in parts.items():
        setattr(owner, name, before[part])


def timer(spent, part, function):
    def call(*args, **kwargs):
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[part] += time.perf_counter() - started

    return call


def begin(connection, cursor, statement, parameters, context, many):
    context.started = time.perf_counter()


def end(spent, context):
    spent["the database alone"] += time.perf_counter() - context.started


@contextmanager
def watched():
    """Yield a list that gets this process's memory ten times a second, without the memory of its sandboxes."""
    memory, over = [], threading.Event()

    def look():
        process = psutil.Process()
        while not over.wait(0.1):
            memory.append(process.memory_info().rss)

    watcher = threading.Thread(target=look)
    watcher.start()
    yield memory
    over.set()
    watcher.join()


if __name__ == "__main__":
    main()
