"""What several benchmarks share: steps to time in one process, a class that hands in, and commands to time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

REPO = Path(__file__).resolve().parent.parent
# Of the models to compare with PyTorch: (N, T, d_model, n_heads).
SIZES = [(2, 8, 16, 4), (32, 16, 64, 4), (64, 32, 128, 8), (16, 64, 512, 8)]


def cpu_seconds(step, repeats=1):
    """Return the CPU seconds of this process per call."""
    start = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - start) / repeats


def turns(steps, seconds, rounds):
    """Return CPU seconds, (rounds, steps). In a round the steps take turns, each for about this many seconds."""
    repeats = [max(1, round(seconds / min(cpu_seconds(step), cpu_seconds(step)))) for step in steps]
    return np.array([[cpu_seconds(step, n) for step, n in zip(steps, repeats, strict=True)] for _ in range(rounds)])


def hand_in(course, count, chapter, students):
    """Write `count` submissions of these students of the example class, each with different bytes."""
    from autograder.example import example_class

    content = {example.student: example.content for example in example_class.examples(course, chapter)}
    for number in range(count):
        notebook = json.loads(content[students[number % len(students)]])
        notebook["metadata"]["handed_in"] = number
        path = course / "submitted" / f"student-{number:04d}" / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")


def grade_command(course, chapter, *options):
    """Return the command that grades a chapter of a course."""
    return [sys.executable, "-m", "autograder", "grade", chapter, "--course", str(course), *options]


def seconds_of(command, folder=REPO):
    """Run a command in a folder, and return its seconds. Exit with what it printed if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPO), "PYTHONWARNINGS": "ignore"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started
