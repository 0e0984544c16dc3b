"""Compare `autograder grade` with stock nbgrader on the same students, each as a whole command, in turns.

    .venv/bin/python benchmarks/grading.py [--submissions 24] [--ours 240] [--rounds 3]

Stock nbgrader runs with its defaults: it executes every notebook from top to bottom in a kernel, one after another.
Both commands write the gradebook. Ours also writes the feedback pages, for which stock nbgrader needs a second command.
Our class is larger, so that the start of the command weighs as little as it does in stock nbgrader's slower run.
The benchmark asserts nothing, because times depend on the machine.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from autograder.release.publish import publish
from benchmarks.timing import grade_command, hand_in, seconds_of

CHAPTER = "01_attention"
# The students of the example class whose notebooks stock nbgrader can grade without a time limit.
STUDENTS = ("perfect", "by-loops", "half-done", "mistake-1", "mistake-2", "unknown-mistake", "noisy", "raises")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=24, help="of stock nbgrader's class")
    parser.add_argument("--ours", type=int, default=240, help="submissions of our class")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = {"stock": options.submissions, "ours": options.ours}
    times = {"stock": [], "stock feedback": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder:
        courses = {name: Path(folder, f"course-{name}") for name in sizes}
        for name, course in courses.items():
            publish(course, [CHAPTER])
            hand_in(course, sizes[name], CHAPTER, STUDENTS)
        for number in range(options.rounds):
            for name, command in commands(Path(folder), number).items():
                whose = name.split()[0]
                times[name].append(timed(courses[whose], Path(folder, f"{number}-{whose}"), command))
                print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
    print_rates(sizes, times)


def commands(folder, number):
    """Return the commands to time, by name. Stock nbgrader runs where it finds no configuration."""
    nbgrader, stock = [sys.executable, "-m", "nbgrader"], f"--course-dir={folder}/{number}-stock"
    return {
        "stock": [*nbgrader, "autograde", CHAPTER, stock],
        "ours": grade_command(folder / f"{number}-ours", CHAPTER),
        "stock feedback": [*nbgrader, "generate_feedback", CHAPTER, stock],
    }


def timed(course, graded, command):
    """Return the seconds of one command on its copy of the course. Make the copy if it does not exist."""
    if not graded.exists():
        # Leave out the course's nbgrader_config.py, which replaces parts of nbgrader with ours.
        shutil.copytree(course, graded, ignore=shutil.ignore_patterns("nbgrader_config.py"))
    return seconds_of(command, graded.parent)


def print_rates(sizes, times):
    """Print how many submissions each grades in a minute: the median of the rounds, the least and the greatest."""
    both = [scores + feedback for scores, feedback in zip(times["stock"], times["stock feedback"], strict=True)]
    rows = {
        "stock nbgrader, scores only": (sizes["stock"], times["stock"]),
        "stock nbgrader, scores and feedback": (sizes["stock"], both),
        "autograder grade, scores and feedback": (sizes["ours"], times["ours"]),
    }
    print(f"\n{CHAPTER}, {os.cpu_count()} processors, submissions a minute:")
    rates = {}
    for name, (count, seconds) in rows.items():
        rates[name] = [60 * count / value for value in seconds]
        median, least, greatest = (f(rates[name]) for f in (statistics.median, min, max))
        print(f"  {name}, class of {count}: {median:.1f} ({least:.1f} to {greatest:.1f})")
    alone, both, ours = (statistics.median(rate) for rate in rates.values())
    print(f"  ratio: {ours / both:.1f} ({ours / alone:.1f} if stock nbgrader writes no feedback)")


if __name__ == "__main__":
    main()
