import numpy as np

from autograder.authoring.diagnoses import one_of_each, overlooked, renamed
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import training as reference
from solutions.runs import training_runs

diagnose_training = Exercise(reference.diagnose_training, outputs={"bug": "", "first": ""}, section="What a log shows")
wrong = short_mistakes(diagnose_training)
JUMPS = "target not shifted", "labels of other sentences", "padding counted"


def runs(draw, *bugs):
    return one_of_each(draw, "run", bugs, lambda bugs: ({"run": log} for log in clear_logs(bugs, draw.rng)))


def clear_logs(bugs, rng):
    """Return a log with each bug. Right answers would differ for one unclear log in a hundred, so make another one
    instead."""
    made = training_runs(bugs, rng)
    while unclear := [i for i, (run, first) in enumerate(made) if is_unclear(bugs[i], run, first)]:
        for i, other in zip(unclear, training_runs([bugs[i] for i in unclear], rng), strict=True):
            made[i] = other
    return [run for run, _ in made]


def is_unclear(bug, run, first):
    """Return whether half of the gradients grow by 40% at a healthy step, or a loss that jumps grows by less than
    30%."""
    grows = np.median(ratios(run["gradient_norms"][:first]), axis=1) > 1.4
    return grows.any() or (bug in JUMPS and run["loss"][first] < 1.3 * run["loss"][first - 1])


@diagnose_training.cases("one number shows it", points=2)
def _(draw):
    yield from runs(draw, "mask forgotten", "layer not updated", "way back cut", "loss summed")


@diagnose_training.cases("the gradients and the updates show it", points=2)
def _(draw):
    yield from runs(draw, "rate too high", "moments lost", "gradients not cleared")


@diagnose_training.cases("the loss shows it, and its later course", points=2)
def _(draw):
    yield from runs(draw, *JUMPS)


def ratios(norms):
    """Divide each row except the first by the row before it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return norms[1:] / norms[:-1]


@diagnose_training.mistake("dates every bug by the loss")
def dated_by_the_loss(run):
    """You name the first step at which the loss rises. Several bugs show earlier: the updates of a rate that is too
    high are too long one step before the loss rises, and a layer that is not updated may never show in the loss.
    Look at every number of the log, and take the first step at which one of them shows the bug."""
    bug, first = reference.diagnose_training(run)
    rises = np.flatnonzero(np.diff(run["loss"]) > 0)
    return bug, None if first is None else int(rises[0]) + 1 if len(rises) else len(run["loss"]) - 1


@diagnose_training.mistake("names the last step")
def dated_by_the_end(run):
    """You name the last step of the log. The bug is in the code from an earlier step on: find the first step that
    differs from the step before it."""
    bug, first = reference.diagnose_training(run)
    return bug, None if first is None else len(run["loss"]) - 1


def dated(run, *, change):
    """Return the right name, and another step if there is one."""
    bug, first = reference.diagnose_training(run)
    return bug, None if first is None else change(first)


wrong("from_one", dated, change=lambda first: first + 1)("""
    counts steps from 1
    Your step is one too large. Row 0 of the log is step 0. If you compare rows 1, 2, ... with rows 0, 1, ..., the index
    in the comparison is one too small. Add 1 to it once, not twice.""")
wrong("one_early", dated, change=lambda first: first - 1)("""
    names the step before the bug
    Your step is one too small: it is the last step without the bug. `a[1:] / a[:-1]` and `np.diff` begin with step 1,
    so their index 0 is step 1.""")


@diagnose_training.mistake("gives a step to a healthy run")
def step_for_nothing(run):
    """If the bug is "nothing", `first` must be None, because no step of a healthy run has a bug. You return 0."""
    bug, first = reference.diagnose_training(run)
    return bug, 0 if first is None else first


@diagnose_training.mistake("gives -1 as the step of a healthy run")
def minus_one_for_nothing(run):
    """If the bug is "nothing", `first` must be None. You return -1, which Python reads as the last step."""
    bug, first = reference.diagnose_training(run)
    return bug, -1 if first is None else first


def misnamed(run, *, bugs, to):
    return renamed(reference.diagnose_training(run), bugs, to)


wrong("moments_as_rate", misnamed, bugs=["moments lost"], to="rate too high")("""
    takes lost moments for a high rate
    You name a high rate whenever the updates grow. Adam with moments of zero takes one long step, and its next steps
    are short again. With a high rate the updates stay long.""")
wrong("rate_as_moments", misnamed, bugs=["rate too high"], to="moments lost")("""
    takes a high rate for lost moments
    You name lost moments whenever the updates grow. Without moments, Adam's first step changes every parameter by the
    rate and no more. Only a higher rate makes updates many times as long.""")
wrong("cut_as_not_updated", misnamed, bugs=["way back cut"], to="layer not updated")("""
    takes a gradient of zero for a layer that is not updated
    You name a layer that is not updated when its *gradients* are zero. In that case, the backward pass is cut above
    this layer. A layer that is not updated has a gradient, but its *update* is zero.""")
wrong("not_updated_as_cut", misnamed, bugs=["layer not updated"], to="way back cut")("""
    takes an update of zero for a way back that is cut
    You name a cut backward pass when the *updates* of a layer are zero. Its gradient is not zero, so the backward pass
    reaches it, but the optimiser leaves the layer out.""")
wrong("first_layer_alone", lambda run: overlooked(reference.diagnose_training(run), ["layer not updated"]))("""
    misses a layer that is not updated
    You miss a layer that is not updated, at least if it is not the first layer. Its column of `update_norms` holds 0:
    look for 0 in every column.""")
wrong("last_layer_alone", lambda run: overlooked(reference.diagnose_training(run), ["way back cut"]))("""
    misses a way back that is cut
    You miss a backward pass that is cut. The layers above the cut, including the last one, have gradients as before.
    The layers below it have none: look for 0 in every column of `gradient_norms`.""")
wrong("summed_as_not_cleared", misnamed, bugs=["loss summed"], to="gradients not cleared")("""
    takes a summed loss for gradients that are not cleared
    You read the gradients and not the loss. A summed loss becomes about a hundred times as large at once, and so do its
    gradients. Gradients that are not cleared grow by one gradient a step, and the loss does not jump.""")
wrong("not_cleared_as_summed", misnamed, bugs=["gradients not cleared"], to="loss summed")("""
    takes gradients that are not cleared for a summed loss
    You name a summed loss whenever the gradients grow. A sum makes the loss itself about a hundred times as large. If
    only the gradients grow, first to twice their size and then further, the code adds them up from step to step.""")
wrong("past_ignored", lambda run: overlooked(reference.diagnose_training(run), ["mask forgotten"]))("""
    does not look at the past
    You miss a forgotten mask, which the loss hardly shows. `past_moves` is zero as long as no output depends on a later
    token.""")
wrong(
    "jump_as_not_shifted", misnamed, bugs=["labels of other sentences", "padding counted"], to="target not shifted"
)("""
    takes every jump of the loss for a target that is not shifted
    Three bugs make the loss jump, and you name one of them for all three. Look at what the model learns afterwards: it
    repeats the word that it reads (`copied`) only if the target is not shifted.""")
wrong("padding_as_labels", misnamed, bugs=["padding counted"], to="labels of other sentences")("""
    takes counted padding for labels of other sentences
    The loss jumps in both runs. The model can learn that padding follows padding, so the loss with counted padding soon
    falls again. It cannot learn labels of other sentences, so with them the loss stays high. You name the labels for
    both.""")
wrong("labels_as_padding", misnamed, bugs=["labels of other sentences"], to="padding counted")("""
    takes labels of other sentences for counted padding
    The loss jumps in both runs. The model cannot learn labels of other sentences, so with them the loss stays high. It
    can learn that padding follows padding, so the loss with counted padding soon falls again. You name the padding for
    both.""")
wrong("copies_as_padding", misnamed, bugs=["target not shifted"], to="padding counted")("""
    takes a target that is not shifted for counted padding
    You name counted padding when the target is not shifted. In both runs the loss jumps and falls again. But if the
    target is not shifted, the model repeats the word that it reads, which `copied` shows.""")
wrong("step_first", lambda run: reference.diagnose_training(run)[::-1])("""
    returns the step before the name
    You return `(first, bug)`. The name comes first: `(bug, first)`.""")


def all_but_the_past(run):
    yield "layer not updated", (run["update_norms"][1:] == 0).any(axis=1)
    yield "way back cut", (run["gradient_norms"][1:] == 0).any(axis=1)
    updates, loss = np.median(ratios(run["update_norms"]), axis=1), ratios(run["loss"])
    yield "rate too high", updates > 5
    yield "moments lost", updates > 1.1
    yield "loss summed", loss > 40
    yield "jump", loss > 1.2
    yield "gradients not cleared", np.median(ratios(run["gradient_norms"]), axis=1) > 1.65


@diagnose_training.equivalent
def step_by_step(run):
    """Find the first step, then its name, with other bounds."""
    signs = list(all_but_the_past(run))
    for t in range(1, len(run["loss"])):
        if run["past_moves"][t] > 0.01:
            return "mask forgotten", t
        for bug, shown in signs:
            if shown[t - 1]:
                return (which_jump(run, t) if bug == "jump" else bug), t
    return "nothing", None


def which_jump(run, first):
    if run["copied"][-5:].mean() > 0.4:
        return "target not shifted"
    stays = run["loss"][-1] > 0.52 * run["loss"][first]
    return "labels of other sentences" if stays else "padding counted"


@diagnose_training.equivalent
def by_geometric_means(run):
    """Compare logarithms of sizes of the whole model, and return a NumPy number as the step."""
    with np.errstate(divide="ignore"):
        logs = {name: np.log(np.asarray(column)) for name, column in run.items() if name != "copied"}
    updates, loss = run["update_norms"], logs["loss"]
    lengths = [np.log(np.linalg.norm(run[name], axis=1)) for name in ("update_norms", "gradient_norms")]
    (updates_jump, gradients_jump), loss_jump = (np.diff(rows, prepend=rows[0]) for rows in lengths), np.diff(loss)
    loss_jump = np.concatenate([[0], loss_jump])
    conditions = [
        (run["past_moves"] > 0, "mask forgotten"),
        (updates.min(axis=1) == 0, "layer not updated"),
        (run["gradient_norms"].min(axis=1) == 0, "way back cut"),
        (updates_jump > np.log(4), "rate too high"),
        (updates_jump > np.log(1.15), "moments lost"),
        (loss_jump > np.log(20), "loss summed"),
        (loss_jump > np.log(1.18), "jump"),
        (gradients_jump > np.log(1.65), "gradients not cleared"),
    ]
    which = np.select([shown for shown, _ in conditions], np.arange(len(conditions)), -1)
    if (which < 0).all():
        return "nothing", None
    first = np.flatnonzero(which >= 0)[0]
    bug = conditions[which[first]][1]
    return (which_jump(run, first) if bug == "jump" else bug), first


@diagnose_training.equivalent
def against_the_first_steps(run):
    """Compare each step with the step before it, and return a list."""
    loss, updates, gradients = run["loss"], run["update_norms"].sum(axis=1), run["gradient_norms"].sum(axis=1)
    for t in range(2, len(loss)):
        if run["past_moves"][t]:
            return ["mask forgotten", t]
        if not run["update_norms"][t].all():
            return ["layer not updated", t]
        if not run["gradient_norms"][t].all():
            return ["way back cut", t]
        if updates[t] > 1.12 * updates[t - 1]:
            return ["rate too high" if updates[t] > 4 * updates[t - 1] else "moments lost", t]
        if loss[t] > 1.2 * loss[t - 1]:
            return ["loss summed" if loss[t] > 30 * loss[t - 1] else which_jump(run, t), t]
        if gradients[t] > 1.6 * gradients[t - 1]:
            return ["gradients not cleared", t]
    return ["nothing", None]
