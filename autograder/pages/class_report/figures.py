"""Draw the figures of the class report, in the book's style: inline SVG for light and dark pages.

No figure contains text that a student wrote.
"""

import statistics
from collections.abc import Sequence
from itertools import pairwise

import figures
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from autograder.pages.class_report.counts import OUTCOMES, ExerciseCount, outcome
from autograder.pages.class_report.entries import Entry
from check.words import count

# No stronger than the book's heatmaps, so that the numbers on the bars have a contrast of 4.5 in light and in dark.
COLOURS = {
    kind: to_rgba(hue, strength * figures.STRONGEST)
    for kind, hue, strength in zip(
        OUTCOMES,
        (figures.BLUE, figures.ORANGE, figures.ORANGE, figures.RED, figures.PURPLE, figures.GREY, figures.GREY),
        (1, 1, 0.5, 1, 1, 0.4, 1),
        strict=True,
    )
}
WIDTH = 9.0  # inches: the width of the page
MAX_SQUARES = 150  # up to this many students, each one is a square of the histogram
MAX_BINS = 30
SLANT = 35  # degrees; the names of twelve exercises touch each other at 20


def scores(entries: Sequence[Entry]) -> str:
    """Return the histogram of the scores as SVG, with the median marked."""
    points = max(entry.points for entry in entries)
    totals = [entry.score for entry in entries]
    step = max(1.0, np.ceil(points / MAX_BINS))
    bins = [int(total // step) for total in totals]
    heights = np.bincount(bins, minlength=int(points // step) + 1)
    figure, ax = figures.subplots(width=WIDTH, height=2.6)
    if len(entries) <= MAX_SQUARES:
        squares = [Rectangle((x - 0.44, y + 0.06), 0.88, 0.88) for x, n in enumerate(heights) for y in range(n)]
        ax.add_collection(PatchCollection(squares, facecolors=figures.BLUE, edgecolors="none"))
    else:
        ax.bar(range(len(heights)), heights, width=0.88, color=figures.BLUE)
    median = statistics.median(totals)
    ax.axvline(median / step, color=figures.ORANGE, linestyle=(0, (4, 2)))
    side = -1 if median > points / 2 else 1
    ax.annotate(f"median {median:g}", (median / step, 1), xycoords=("data", "axes fraction"),
                xytext=(5 * side, -2), textcoords="offset points", ha="left" if side > 0 else "right", va="top",
                color=figures.ORANGE)  # fmt: skip
    ax.set(xlim=(-0.7, len(heights) - 0.3), ylim=(0, max(3, *heights) * 1.18), xlabel="points", ylabel="students")
    every = max(1, len(heights) // 12)
    ax.set_xticks(range(0, len(heights), every), [f"{n * step:g}" for n in range(0, len(heights), every)])
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.grid(False, axis="x")
    quarters = np.quantile(totals, [0, 0.25, 0.5, 0.75, 1])
    summary = "lowest {:g}, lower quartile {:g}, median {:g}, upper quartile {:g}, highest {:g}".format(*quarters)
    return figures.show(figure, alt=f"Scores of {count(len(totals), 'student')} out of {points:g}: {summary}.").svg


def outcomes(exercises: Sequence[ExerciseCount]) -> str:
    """Return an SVG with a bar for each exercise, as wide as the class, divided by outcome."""
    figure, ax = figures.subplots(width=WIDTH, height=0.42 * len(exercises) + 0.1)
    students = max(exercise.students for exercise in exercises)
    rows = range(len(exercises))
    starts = np.zeros(len(exercises))
    for kind in OUTCOMES:
        widths = np.array([exercise.outcomes[kind] for exercise in exercises])
        ax.barh(rows, widths, left=starts, height=0.72, color=COLOURS[kind])
        for row, width, start in zip(rows, widths, starts, strict=True):
            if width >= 0.04 * students:
                ax.text(start + width / 2, row, str(width), ha="center", va="center", fontsize=10)
        starts += widths
    ax.set_yticks(rows, [exercise.name for exercise in exercises], family="monospace")
    ax.set(xlim=(0, students), ylim=(len(exercises) - 0.5, -0.5))
    ax.xaxis.set_visible(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.grid(False)
    summaries = [
        f"{exercise.name}: " + ", ".join(f"{n} {kind}" for kind, n in exercise.outcomes.items() if n)
        for exercise in exercises
    ]
    return figures.show(figure, alt=f"The outcomes of each exercise. {'; '.join(summaries)}.").svg


def class_map(entries: Sequence[Entry], exercises: Sequence[ExerciseCount]) -> str:
    """Return a map as SVG: a row for each student, best first, a column for each aspect, coloured by outcome."""
    best_first = sorted(entries, key=lambda entry: (-entry.score, -entry.computed))
    columns = [(exercise.name, aspect.name) for exercise in exercises for aspect in exercise.aspects]
    colours = np.zeros((len(entries), len(columns), 4))
    for row, entry in enumerate(best_first):
        cells = {
            (result.function, aspect.name): to_rgba(COLOURS["right" if aspect.holds else outcome(entry, result)])
            for result in entry.report.results
            for aspect in result.aspects
        }
        colours[row] = [cells.get(column, (0, 0, 0, 0)) for column in columns]
    height = min(5.5, 0.7 + 0.16 * max(len(entries), 8))
    figure, ax = figures.subplots(width=WIDTH, height=height)
    ax.imshow(colours, interpolation="none", aspect="auto")
    edges = np.cumsum([0, *(len(exercise.aspects) for exercise in exercises)]) - 0.5
    for edge in edges[1:-1]:
        ax.axvline(edge, color=figures.INK, linewidth=1)
    middles = [(start + end) / 2 for start, end in pairwise(edges)]
    ax.set_xticks(middles, [exercise.name for exercise in exercises], family="monospace", fontsize=9)
    ax.xaxis.set(label_position="top", ticks_position="top")
    if len(exercises) > 4:
        ax.tick_params(axis="x", rotation=SLANT)
        for label in ax.get_xticklabels():
            label.set(ha="left", rotation_mode="anchor")
    ax.set_yticks([])
    ax.set_ylabel("students, best first")
    ax.tick_params(length=0)
    ax.grid(False)
    alt = (
        f"A map of {count(len(entries), 'student')}, best first, by {count(len(columns), 'aspect')} of "
        f"{count(len(exercises), 'exercise')}: which aspects pass, and the outcomes of failing exercises. The table "
        "below has the numbers."
    )
    return figures.show(figure, alt=alt).svg
