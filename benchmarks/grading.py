"""The same class graded by stock nbgrader and by `autograder grade`, by turns, each as a whole command.

    .venv/bin/python benchmarks/grading.py [--submissions 24] [--rounds 2]

Stock nbgrader means its defaults: every notebook executed from top to bottom in a kernel, one after the other.
Both write the gradebook; ours writes the feedback pages as well, for which stock needs a second command. Nothing
is asserted: times are of this machine, now.
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
# Those that stock nbgrader survives without a time limit.
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
    say(options.submissions, {name: statistics.median(seconds) for name, seconds in times.items()})


def hand_in(course, count):
    """`count` submissions, no two the same bytes."""
    content = {each.student: each.content for each in example_class.examples(course, CHAPTER)}
    for number in range(count):
        notebook = json.loads(content[STUDENTS[number % len(STUDENTS)]])
        notebook["metadata"]["handed_in"] = number
        path = course / "submitted" / f"student-{number:03d}" / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")


def commands(folder, number):
    """What is timed, by name; stock runs where it finds no configuration."""
    nbgrader, stock = [sys.executable, "-m", "nbgrader"], f"--course-dir={folder}/{number}-stock"
    return {
        "stock": [*nbgrader, "autograde", CHAPTER, stock],
        "ours": [sys.executable, "-m", "autograder.cli.main", "grade", CHAPTER, "--course", f"{folder}/{number}-ours"],
        "stock feedback": [*nbgrader, "generate_feedback", CHAPTER, stock],
    }


def timed(course, graded, command):
    """Seconds of one command on a fresh copy of the course (or on the copy that is there)."""
    if not graded.exists():
        # Without the course's nbgrader_config.py, which would make stock nbgrader follow our rules.
        shutil.copytree(course, graded, ignore=shutil.ignore_patterns("nbgrader_config.py"))
    house = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": house, "PYTHONWARNINGS": "ignore"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=graded.parent, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


def say(count, seconds):
    both = seconds["stock"] + seconds["stock feedback"]
    print(f"\n{count} submissions of {CHAPTER}, {os.cpu_count()} processors, median of the rounds, a minute:")
    print(f"  stock nbgrader, scores only:        {60 * count / seconds['stock']:6.0f}")
    print(f"  stock nbgrader, scores and feedback: {60 * count / both:5.0f}")
    print(f"  autograder grade, the same:         {60 * count / seconds['ours']:6.0f}")
    alone = seconds["stock"] / seconds["ours"]
    print(f"  ratio: {both / seconds['ours']:.1f} (with scores only on their side: {alone:.1f})")


if __name__ == "__main__":
    main()
