"""Compare `autograder grade` with stock nbgrader on the same class, each as a whole command, in turns.

    .venv/bin/python benchmarks/grading.py [--submissions 24] [--rounds 2]

Stock nbgrader runs with its defaults: it executes every notebook from top to bottom in a kernel, one after the other.
Both commands write the gradebook. Ours also writes the feedback pages, for which stock nbgrader needs a second command.
The benchmark asserts nothing, because times depend on the machine.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from autograder.example import example_class
from autograder.release.publish import publish

CHAPTER = "01_attention"
# The students of the example class whose notebooks stock nbgrader can grade without a time limit.
STUDENTS = ("perfect", "by-loops", "half-done", "mistake-1", "mistake-2", "unknown-mistake", "noisy", "raises")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        publish(course, [CHAPTER])
        hand_in(course, options.submissions)
        times = {"stock": [], "stock feedback": [], "ours": []}
        for number in range(options.rounds):
            for name, command in commands(Path(folder), number).items():
                times[name].append(timed(course, Path(folder, f"{number}-{name.split()[0]}"), command))
                print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
    print_rates(options.submissions, {name: statistics.median(seconds) for name, seconds in times.items()})


def hand_in(course, count, chapter=CHAPTER, students=STUDENTS):
    """Write `count` submissions of these students of the example class, each with different bytes."""
    content = {example.student: example.content for example in example_class.examples(course, chapter)}
    for number in range(count):
        notebook = json.loads(content[students[number % len(students)]])
        notebook["metadata"]["handed_in"] = number
        path = course / "submitted" / f"student-{number:03d}" / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")


def commands(folder, number):
    """Return the commands to time, by name. Stock nbgrader runs where it finds no configuration."""
    nbgrader, stock = [sys.executable, "-m", "nbgrader"], f"--course-dir={folder}/{number}-stock"
    return {
        "stock": [*nbgrader, "autograde", CHAPTER, stock],
        "ours": [sys.executable, "-m", "autograder.cli.main", "grade", CHAPTER, "--course", f"{folder}/{number}-ours"],
        "stock feedback": [*nbgrader, "generate_feedback", CHAPTER, stock],
    }


def timed(course, graded, command):
    """Return the seconds of one command on its copy of the course. Make the copy if it does not exist."""
    if not graded.exists():
        # Leave out the course's nbgrader_config.py, which replaces parts of nbgrader with ours.
        shutil.copytree(course, graded, ignore=shutil.ignore_patterns("nbgrader_config.py"))
    repo = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": repo, "PYTHONWARNINGS": "ignore"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=graded.parent, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


def print_rates(count, seconds):
    """Print how many submissions each grades in a minute."""
    both = seconds["stock"] + seconds["stock feedback"]
    print(f"\n{count} submissions of {CHAPTER}, {os.cpu_count()} processors, median of the rounds, a minute:")
    print(f"  stock nbgrader, scores only:           {60 * count / seconds['stock']:6.0f}")
    print(f"  stock nbgrader, scores and feedback:   {60 * count / both:6.0f}")
    print(f"  autograder grade, scores and feedback: {60 * count / seconds['ours']:6.0f}")
    alone = seconds["stock"] / seconds["ours"]
    print(f"  ratio: {both / seconds['ours']:.1f} ({alone:.1f} if stock nbgrader writes no feedback)")


if __name__ == "__main__":
    main()
