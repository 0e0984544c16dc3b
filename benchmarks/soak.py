"""Grade a large class with a command that is killed again and again, then check every score.

    .venv/bin/python benchmarks/soak.py [--submissions 1000] [--kills 100]

This takes as long as grading the class, and some seconds for each kill. The exit code is 1 if a score is wrong, if a
report is missing or was made twice, or if a process is left.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from autograder.example import example_class
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.queries import computed_scores
from autograder.release.publish import publish

CHAPTER = "01_attention"
# Students whose code runs into a limit: one in fifty submissions.
RARE = ("endless", "greedy")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        publish(course, [CHAPTER])
        expected = hand_in(course, options.submissions)
        command = [sys.executable, "-m", "autograder", "grade", CHAPTER, "--course", str(course)]
        started = time.perf_counter()
        kills = grade_and_kill(command, options.kills, random.Random(2017))
        minutes = (time.perf_counter() - started) / 60
        wrong = problems(course, expected)
    print(f"{options.submissions} submissions, {kills} kills, {minutes:.1f} minutes on {os.cpu_count()} processors")
    print("\n".join(wrong) or "Every score is right. No report is missing, and none was made twice.")
    return bool(wrong)


def hand_in(course, count):
    """Write `count` submissions, each with different bytes. Return student -> the right score."""
    examples = list(example_class.examples(course, CHAPTER))
    common = [example for example in examples if example.student not in RARE]
    rare = [example for example in examples if example.student in RARE]
    expected = {}
    for number in range(count):
        example = rare[number // 50 % len(rare)] if number % 50 == 49 else common[number % len(common)]
        student = f"{example.student}-{number:04d}"
        path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(example.content + b"\n" * number)
        expected[student] = example.score
    return expected


def grade_and_kill(command, kills, rng):
    """Run the command until it finishes, and kill it up to `kills` times before. Return the number of kills."""
    for number in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0, 12))
            return number
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return kills


def problems(course, expected):
    """Return what is wrong with the graded course, in sentences."""
    scores = computed_scores(open_coursedir(course, CHAPTER))
    totals = {student: sum(exercise_scores.values()) for student, exercise_scores in scores.items()}
    wrong = [
        f"{student} has {totals.get(student)} points instead of {score}"
        for student, score in expected.items()
        if totals.get(student) != score
    ]
    reports = list((course / "reports" / CHAPTER).iterdir())
    if len(reports) != len(expected):
        wrong.append(f"there are {len(reports)} reports instead of {len(expected)}")
    pages = list((course / "feedback").glob(f"*/{CHAPTER}/{CHAPTER}.html"))
    if len(pages) != len(expected):
        wrong.append(f"there are {len(pages)} feedback pages instead of {len(expected)}")
    sandboxes = [process for process in psutil.process_iter(["name", "ppid"]) if process.info["name"] == "bwrap"]
    return wrong + [f"the sandbox {process.pid} is still running" for process in sandboxes if process.info["ppid"] == 1]


if __name__ == "__main__":
    sys.exit(main())
