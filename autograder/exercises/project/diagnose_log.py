import math

import numpy as np

from autograder.authoring.diagnoses import HEALTHY, NOTHING, overlooked, renamed
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.project.failed_runs import drawn, log_of
from solutions import project as reference

diagnose_log = Exercise(
    reference.diagnose_log, outputs={"bug": "", "first": ""}, section="Eight runs that failed", order=("bug", "first")
)
wrong = short_mistakes(diagnose_log)


def logs(draw, *bugs):
    """Yield a healthy log and logs of some bugs, in random order under neutral names. There is a run of each bug that
    the chapter does not show. Grading also uses the run that the chapter shows; a public key does not, because the
    bundle would contain its answer.
    """
    drawn_logs = [drawn(draw, bug) for bug in (NOTHING, *bugs)]
    shown = [] if draw.at_home else [log_of(bug, 0) for bug in bugs]
    chosen = drawn_logs + shown
    for number, i in enumerate(draw.rng.permutation(len(chosen)), start=1):
        yield f"log {number}", {"log": chosen[i]}


@diagnose_log.cases("the steps", points=2)
def _(draw):
    yield from logs(draw, "no warm-up", "rate too high")


@diagnose_log.cases("a loss that is too good", points=2)
def _(draw):
    yield from logs(draw, "leak", "labels not shifted")


@diagnose_log.cases("a loss that is too high", points=2)
def _(draw):
    yield from logs(draw, "table not scaled", "overfitting")


@diagnose_log.cases("what no loss shows", points=2)
def _(draw):
    yield from logs(draw, "padding not masked", "layer frozen")


def with_first(diagnosis, columns):
    """Return the diagnosis, with the first column that `columns` gives for the name of the bug."""
    bug, first = diagnosis
    return bug, columns.get(bug, first)


@diagnose_log.mistake("takes a missing warm-up for a high rate")
def warmup_as_rate(log):
    """You name a high rate for two different bugs. Both make the first update too long. Compare it with the later rows
    of `updates`: a schedule that climbs, however high, makes its longest updates later. Without a warm-up none is
    longer than the first."""
    return renamed(reference.diagnose_log(log), ["no warm-up"], to="rate too high")


wrong("rate_as_warmup", lambda log: renamed(reference.diagnose_log(log), ["rate too high"], to="no warm-up"))("""
    takes a high rate for a missing warm-up
    You name a missing warm-up for two different bugs. Both make the first update too long. Compare it with the later
    rows of `updates`: without a warm-up none is longer than the first, and a rate that is too high still climbs.""")
wrong("labels_as_leak", lambda log: renamed(reference.diagnose_log(log), ["labels not shifted"], to="leak"))("""
    takes labels that are not shifted for a leak
    You name a leak for two different bugs. Both let the loss fall too far. `past_moves` distinguishes them: outputs
    that can read later sounds change with the last sound, but labels change no output. Also compare the losses of row
    0.""")
wrong("leak_as_labels", lambda log: renamed(reference.diagnose_log(log), ["leak"], to="labels not shifted"))("""
    takes a leak for labels that are not shifted
    You name labels that are not shifted for two different bugs. Both let the loss fall too far. `past_moves`
    distinguishes them: labels change no output, but outputs that can read later sounds change with the last sound. Also
    compare the losses of row 0.""")


@diagnose_log.mistake("takes labels that are not shifted for overfitting")
def labels_as_overfitting(log):
    """You name overfitting for two different bugs. Both bring the loss down, and the words come out wrong. `held_out`
    distinguishes them: it rises while a model learns its words by heart, and it falls with the loss if the labels are
    wrong for all words."""
    return renamed(reference.diagnose_log(log), ["labels not shifted"], to="overfitting")


wrong("leak_as_overfitting", lambda log: renamed(reference.diagnose_log(log), ["leak"], to="overfitting"))("""
    takes a leak for overfitting
    You name overfitting for two different bugs. Both bring the loss down, and the words come out wrong. `held_out`
    distinguishes them: it rises while a model learns its words by heart, and it falls with the loss if the model can
    read what it must predict, whatever the word.""")
wrong("overfitting_as_leak", lambda log: renamed(reference.diagnose_log(log), ["overfitting"], to="leak"))("""
    takes overfitting for a leak
    You name a leak for two different bugs. Both bring the loss down, and the words come out wrong. `past_moves`
    distinguishes them: it stays at zero as long as no output depends on a later sound.""")
wrong("rate_as_table", lambda log: renamed(reference.diagnose_log(log), ["rate too high"], to="table not scaled"))("""
    takes a high rate for a table that is not scaled
    You name the table for two different bugs. Both keep the loss high. The first row distinguishes them: it was
    measured before the first step, so the rate cannot have changed it yet, but the table can.""")
wrong("table_as_rate", lambda log: renamed(reference.diagnose_log(log), ["table not scaled"], to="rate too high"))("""
    takes a table that is not scaled for a high rate
    You name a high rate for two different bugs. Both keep the loss high. The first row distinguishes them: it was
    measured before the first step, when the rate had not changed anything yet. Also, the size of `updates` depends only
    on the rate.""")
wrong("padding_as_leak", lambda log: renamed(reference.diagnose_log(log), ["padding not masked"], to="leak"))("""
    takes padding that is not masked for a leak
    You name a leak for two different bugs. In both, the outputs depend on something that should not matter.
    `past_moves` changes the last sound, and `padding_moves` adds padding after the letters. See which of the two is not
    zero.""")
wrong("leak_as_padding", lambda log: renamed(reference.diagnose_log(log), ["leak"], to="padding not masked"))("""
    takes a leak for padding that is not masked
    You name padding for two different bugs. In both, the outputs depend on something that should not matter.
    `padding_moves` adds padding after the letters, and `past_moves` changes the last sound. See which of the two is not
    zero.""")
wrong("leak_missed", lambda log: overlooked(reference.diagnose_log(log), ["leak"]))("""
    does not look at what the losses hide
    You call a run healthy although its loss falls below that of every honest run. A loss that is too good is a sign,
    too. `past_moves` says whether an output depends on a later sound.""")
wrong("padding_missed", lambda log: overlooked(reference.diagnose_log(log), ["padding not masked"]))("""
    does not look at the padding
    You call a run healthy because its curves look healthy. Not every bug shows in a curve. Look at `padding_moves`: no
    output may change by more than rounding when padding is added.""")
wrong("frozen_missed", lambda log: overlooked(reference.diagnose_log(log), ["layer frozen"]))("""
    looks at the mean of the updates
    You miss a part of the model whose update is zero. In a mean or a maximum, the other parts may hide it. Look for a
    zero in each column of `updates`.""")
wrong("overfitting_missed", lambda log: overlooked(reference.diagnose_log(log), ["overfitting"]))("""
    overlooks that the loss of other words rises
    You call a run healthy although its `held_out` rises in the end. Only the loss of the words that it trains on still
    falls. Compare the last row of `held_out` with its lowest value.""")
wrong("warmup_missed", lambda log: overlooked(reference.diagnose_log(log), ["no warm-up"]))("""
    looks at the end of the run alone
    You call a run healthy because its last rows are. Look at the first row of `updates`, which should be the shortest
    and not the longest.""")


@diagnose_log.mistake("takes the climb of a schedule for a bug")
def climb_as_rate(log):
    """You name a bug in a healthy run. Its updates become more than ten times as long during the warm-up, as they
    should. Compare them with those of the healthy run in the chapter, row by row."""
    diagnosis = reference.diagnose_log(log)
    return ("rate too high", "updates") if diagnosis == HEALTHY else diagnosis


@diagnose_log.mistake("names the loss for every bug")
def loss_for_all(log):
    """You name `loss` as the first sign of every bug. A loss needs many steps to show what other columns show in their
    first row. Go through all columns of the first row, then of the second, and stop where one cannot belong to a
    healthy run."""
    bug, first = reference.diagnose_log(log)
    return bug, None if first is None else "loss"


wrong("copies_first", lambda log: with_first(reference.diagnose_log(log), {"labels not shifted": "copied"}))("""
    names the copies as the first sign
    You name `copied`, which shows what the model has learnt from its labels after some steps. One column shows it
    before the first step: compare the first row with that of the healthy run.""")
wrong("leak_by_the_loss", lambda log: with_first(reference.diagnose_log(log), {"leak": "loss"}))("""
    dates a leak by the loss
    The name of one bug is right, but its first sign is not. You name `loss`, which falls too far only after many steps.
    A column that is measured by changing the input shows the bug before the first step.""")
wrong("overfitting_by_the_loss", lambda log: with_first(reference.diagnose_log(log), {"overfitting": "loss"}))("""
    names the falling loss as the sign of overfitting
    The name of one bug is right, but its first sign is not. You name `loss`. A loss that falls fast is not in itself a
    sign of a bug. The sign is another column that turns and rises.""")


@diagnose_log.mistake("dates the schedule by the loss")
def schedule_by_the_loss(log):
    """The names of two bugs are right, but their first signs are not. You name `loss`, which shows what the steps did.
    `updates` shows the steps themselves, one row earlier."""
    return with_first(reference.diagnose_log(log), {"no warm-up": "loss", "rate too high": "loss"})


@diagnose_log.mistake("names a column for a healthy run")
def column_for_nothing(log):
    """If the bug is "nothing", `first` must be None: no column of a healthy run shows a bug. You return "loss"."""
    bug, first = reference.diagnose_log(log)
    return bug, first or "loss"


@diagnose_log.mistake("returns an empty name for a healthy run")
def empty_name(log):
    """If the bug is "nothing", `first` must be None. You return an empty string."""
    bug, first = reference.diagnose_log(log)
    return bug, first or ""


wrong("column_first", lambda log: reference.diagnose_log(log)[::-1])("""
    returns the column before the name
    You return `(first, bug)`. The name of the bug comes first: `(bug, first)`.""")


@diagnose_log.equivalent
def by_the_first_row(log):
    """Look at the first row first, because most bugs show before the first step."""
    loss, past, padding = (log[name][0] for name in ("loss", "past_moves", "padding_moves"))
    embeddings, encoder, decoder = log["updates"][0]
    if past > 1e-3 or padding > 1e-3:
        return ("leak", "past_moves") if past > padding else ("padding not masked", "padding_moves")
    if embeddings * encoder * decoder == 0:
        return "layer frozen", "updates"
    if not 3.9 < loss < 7:
        return ("labels not shifted" if loss < 4 else "table not scaled"), "loss"
    if decoder > 4e-4:
        return ("no warm-up" if decoder > 5e-3 else "rate too high"), "updates"
    return ("overfitting", "held_out") if log["held_out"][-1] > 2 * log["loss"][-1] else ("nothing", None)


@diagnose_log.equivalent
def by_the_whole_course(log):
    """Compare ratios and gaps over all rows, and return a list."""
    sizes = np.median(log["updates"], axis=1)
    gap = log["held_out"] - log["loss"]
    if np.median(log["past_moves"]) > 0:
        return ["leak", "past_moves"]
    if np.log10(log["padding_moves"].mean()) > -3:
        return ["padding not masked", "padding_moves"]
    if log["updates"].min() <= 0:
        return ["layer frozen", "updates"]
    if sizes[0] > 1.5 * sizes[1]:
        return ["no warm-up", "updates"]
    if sizes.max() > 0.006:
        return ["rate too high", "updates"]
    if gap[-1] > 1:
        return ["overfitting", "held_out"]
    perplexity = math.exp(log["loss"][0])
    return ["table not scaled", "loss"] if perplexity > 2000 else (
        ["labels not shifted", "loss"] if perplexity < 50 else ["nothing", None]
    )  # fmt: skip


@diagnose_log.equivalent
def row_by_row(log):
    """Go through the rows in the order of the training, and through the columns from left to right."""
    lowest = np.inf
    for row in range(len(log["step"])):
        values = {name: column[row] for name, column in log.items() if np.ndim(column)}
        lowest = min(lowest, values["held_out"])
        if row == 0 and values["loss"] > 7:
            return "table not scaled", "loss"
        if row == 0 and values["loss"] < 3.9:
            return "labels not shifted", "loss"
        if values["past_moves"] > 0.01:
            return "leak", "past_moves"
        if values["padding_moves"] > 0.01:
            return "padding not masked", "padding_moves"
        if not values["updates"].all():
            return "layer frozen", "updates"
        if row == 0 and values["updates"].mean() > 4e-4:
            later = log["updates"][1:].mean(axis=1)
            return ("rate too high" if later.max() > values["updates"].mean() else "no warm-up"), "updates"
    return ("overfitting", "held_out") if values["held_out"] > 1.1 * lowest else HEALTHY
