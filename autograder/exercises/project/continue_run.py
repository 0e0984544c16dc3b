import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.project.shared import small_batches, small_run
from solutions import project as reference
from solutions import training
from solutions.model import backward, forward
from solutions.parameters import flatten, map_tree, unflatten
from solutions.training import adam_step, noam_learning_rate, zero_moments

continue_run = Exercise(
    reference.continue_run,
    outputs={"run": "", "log": "n_batches 2"},
    section="Stop today and continue tomorrow",
    order=("log", "run"),
)
wrong = short_mistakes(continue_run)


def inputs_of(draw, step, n_batches=2, **more):
    # The key bias has no gradient except rounding noise. While the moments are zero, Adam divides this noise by its own
    # size, so two right orders of computing differ by up to a millionth of the learning rate.
    peak = 0.01 if step else 1e-4
    return {
        "run": small_run(draw, step),
        "batches": small_batches(draw, n_batches),
        "n_heads": 2,
        "peak": float(peak * draw.rng.uniform(1, 3)),
        "warmup": draw.size(4, 9),
        "longest": 1e6,
        "smoothing": float(draw.rng.uniform(0.1, 0.3)),
    } | more


@continue_run.cases("the first steps", points=2)
def _(draw):
    yield "two steps", inputs_of(draw, 0)
    yield "two steps without smoothing", inputs_of(draw, 0, smoothing=0.0)
    yield "another padding token", inputs_of(draw, 0) | {"batches": small_batches(draw, 2, pad=7), "pad": 7}


@continue_run.cases("a run that continues", points=2)
def _(draw):
    yield "during the warm-up", inputs_of(draw, 3, 1, warmup=40)
    yield "over the top of the schedule", inputs_of(draw, 5, 2, warmup=6)
    yield "long after the warm-up", inputs_of(draw, draw.size(60, 90), 1)
    yield "no more batches", inputs_of(draw, draw.size(20, 40), 0)


@continue_run.cases("clipping", points=1)
def _(draw):
    longest, warmup = float(draw.rng.uniform(0.05, 0.2)), draw.size(10, 15)
    yield "a short step", inputs_of(draw, 7, 1, longest=longest, warmup=warmup)
    yield "a fresh run", inputs_of(draw, 0, longest=longest, warmup=warmup)


def pieces(params, src, tgt, n_heads, smoothing, pad):
    logits, model_cache = forward(params, src, tgt[:, :-1], n_heads, pad)
    loss, loss_cache = training.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
    return float(loss), backward(training.smoothed_cross_entropy_backward(1.0, loss_cache), model_cache)


def continued(
    run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0, *,
    rate=None, count=lambda step: step, clip=reference.clip_gradients, logged=None,
):  # fmt: skip
    """Run the training loop with some of its parts replaced. rate: a function of step, peak and warmup. count: the step
    that Adam gets. logged: a function of the loss, the length and the loss after the step that returns a row of the
    log.
    """
    rate = rate or (lambda step, peak, warmup: peak * min(step / warmup, math.sqrt(warmup / step)))
    params, moments, step = run["params"], run["moments"], run["step"]
    log = []
    for number, (src, tgt) in enumerate(batches, start=1):
        step += 1
        loss, gradients = pieces(params, src, tgt, n_heads, smoothing, pad)
        clipped, length = clip(gradients, longest)
        adam_at = count(step) if count is not from_one_again else number
        params, moments = adam_step(params, clipped, moments, adam_at, rate(step, peak, warmup))
        after = pieces(params, src, tgt, n_heads, smoothing, pad)[0] if logged else None
        log.append(logged(loss, length, after) if logged else (loss, length))
    return {"params": params, "moments": moments, "step": step}, np.array(log).reshape(-1, 2)


def from_one_again(step):
    raise NotImplementedError("the loop counts")


@continue_run.mistake("starts the moments again")
def new_moments(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You start Adam's moments from zero, although the run has some. The first step after the pause then follows only
    one batch, and has the same length in every parameter. Take them from `run["moments"]`."""
    run = run | {"moments": zero_moments(run["params"])}
    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad)


@continue_run.mistake("counts the steps from 1 again")
def steps_again(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Your steps start again at 1. So the schedule warms up a second time, and Adam corrects means as if they were new.
    The first new step is `run["step"] + 1`."""
    new, log = continued(run | {"step": 0}, batches, n_heads, peak, warmup, longest, smoothing, pad)
    return new | {"step": run["step"] + new["step"]}, log


@continue_run.mistake("counts only the steps of these batches")
def old_steps_forgotten(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You count from 1 again, as `enumerate(batches, start=1)` does, and return this count. So the schedule warms up a
    second time, Adam corrects means as if they were new, and the run forgets its older steps. The first new step is
    `run["step"] + 1`."""
    return continued(run | {"step": 0}, batches, n_heads, peak, warmup, longest, smoothing, pad)


wrong("bias_again", continued, count=from_one_again)("""
    corrects Adam's bias as in the first steps
    Your learning rates are right, but the step that Adam gets starts again at 1. Its bias correction then divides by
    numbers that are too small, so the first step is too long. Adam gets the same step as the schedule.""")


@continue_run.mistake("starts the schedule again")
def schedule_again(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Adam gets the right step, but your schedule starts again at step 1, so the rate climbs from zero after each
    pause. The schedule counts all steps, too."""

    def rate(step, peak, warmup):
        return peak * math.sqrt(warmup) * noam_learning_rate(step - run["step"], 1, warmup)

    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, rate=rate)


def moved_by(steps):
    """Return the schedule shifted ahead by some steps; before step 1 its rate is 0."""

    def rate(step, peak, warmup):
        at = step + steps
        return peak * min(at / warmup, math.sqrt(warmup / max(1, at)))

    return rate


wrong("one_behind", continued, rate=moved_by(-1), count=lambda step: max(1, step - 1))("""
    is one step behind
    Your first new step has the number of the last old one. The run has made `run["step"]` steps, so the next is one
    more. In a fresh run, your first step would be step 0, where the rate is zero or a division by zero.""")
wrong("one_ahead", continued, rate=moved_by(1), count=lambda step: step + 1)("""
    is one step ahead
    Schedule and Adam get a step that is too large by one, as if you counted each batch before and after it. The run has
    made `run["step"]` steps, so the first new one is `run["step"] + 1`.""")
wrong("schedule_ahead", continued, rate=moved_by(1))("""
    has a schedule that is one step ahead
    Adam gets the right step, but the schedule gets the next one: its rates come one step early. Both count the same
    steps, so the first new one is `run["step"] + 1` for both.""")
wrong("schedule_behind", continued, rate=moved_by(-1))("""
    has a schedule that is one step behind
    Adam gets the right step, but the schedule gets the one before: its rates come one step late, and the first rate of
    a fresh run is 0. Both count the same steps, so the first new one is `run["step"] + 1` for both.""")


@continue_run.mistake("returns the old number of steps")
def step_not_counted(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The weights are right, but the run that you return still has its old step. The next part of the run would repeat
    the schedule of this one."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad)
    return new | {"step": run["step"]}, log


@continue_run.mistake("returns the number of new steps")
def new_steps_alone(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The weights are right, but "step" in the run that you return is the number of these batches. It counts all steps
    of the run: add `run["step"]`."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad)
    return new | {"step": len(log)}, log


@continue_run.mistake("returns the step that comes next")
def step_to_come(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The weights are right, but the run that you return has the number of its next step, which is one too many. "step"
    is the number of steps made so far."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad)
    return new | {"step": new["step"] + 1}, log


wrong("no_descent", continued, rate=lambda step, peak, warmup: peak * min(1, step / warmup))("""
    keeps the highest rate after the warm-up
    Your rate stays at its peak after the warm-up. In the schedule of chapter 9 it falls like one over the root of the
    step, so that late steps are short.""")
wrong("no_warmup", continued, rate=lambda step, peak, warmup: peak * min(1, math.sqrt(warmup / step)))("""
    uses the highest rate from the first step on
    Your rate is at its peak from the first step on. It should climb in a straight line to the peak during the
    warm-up.""")


@continue_run.mistake("does not scale the schedule to its peak")
def unscaled_schedule(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You multiply `peak` by the schedule of chapter 9, whose highest value is the root of 1 / (d_model * warmup), not
    1. So the highest rate is not `peak`. Divide by the schedule's own value at step `warmup`."""
    d_model = run["params"]["embeddings"]["shared"].shape[1]
    return continued(
        run, batches, n_heads, peak, warmup, longest, smoothing, pad,
        rate=lambda step, peak, warmup: peak * noam_learning_rate(step, d_model, warmup),
    )  # fmt: skip


wrong("not_clipped", continued, longest=1e9)("""
    does not clip
    The gradients go to Adam as they are. Clip them at `longest` first, with `clip_gradients`.""")


@continue_run.mistake("clips each array by itself", reread="One length for all gradients")
def each_array(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You shorten each array by a factor of its own. Then the proportions between the arrays change, and the step
    points in a different direction. `clip_gradients` shortens a whole tree by one factor: call it once."""

    def clip(gradients, longest):
        clipped = map_tree(lambda array: reference.clip_gradients(array, longest)[0], gradients)
        return clipped, float(np.linalg.norm(flatten(gradients)))

    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, clip=clip)


@continue_run.mistake("cuts off each number", reread="One length for all gradients")
def each_number(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You limit every number to the range from -longest to longest. That changes the direction: the large entries
    shrink, and the small ones stay. Multiply all of them by the same factor, as `clip_gradients` does."""

    def clip(gradients, longest):
        clipped = map_tree(lambda array: np.clip(array, -longest, longest), gradients)
        return clipped, float(np.linalg.norm(flatten(gradients)))

    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, clip=clip)


@continue_run.mistake("logs the clipped length")
def clipped_length_logged(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The weights are right, but your log has the length after clipping, which never exceeds the bound. A log that
    should show wild batches needs the length before clipping."""
    return continued(
        run, batches, n_heads, peak, warmup, longest, smoothing, pad,
        logged=lambda loss, length, after: (loss, min(length, longest)),
    )  # fmt: skip


wrong("loss_after", continued, logged=lambda loss, length, after: (after, length))("""
    logs the loss after the step
    You log the loss after the step, on the batch that the model has just learnt from. Log the loss before the step: the
    model has not learnt from this batch yet in this pass, so the number is honest.""")
wrong("pad_ignored", continued, pad=0)("""
    takes 0 for the padding token
    You treat the token 0 as padding, whatever `pad` is. Pass `pad` to `forward` and to the loss.""")


@continue_run.mistake("trains on the first batch alone")
def first_batch_alone(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You make all steps with the first batch. The model would learn these few words by heart. Take the next batch in
    each step."""
    batches = list(batches)
    return continued(run, batches[:1] * len(batches), n_heads, peak, warmup, longest, smoothing, pad)


@continue_run.mistake("starts each step from the old parameters")
def same_start(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """You start each step from the parameters at the beginning, so only the last step counts. Replace the old
    parameters and moments by what `adam_step` returns before you take the next batch."""
    log = [np.zeros((0, 2))]
    new = run
    for number, batch in enumerate(batches, start=1):
        new, part = continued(run, [batch], n_heads, peak, warmup, longest, smoothing, pad)
        new = new | {"step": run["step"] + number}
        log.append(part)
    return new, np.concatenate(log)


@continue_run.equivalent
def by_its_own_schedule(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad)


@continue_run.equivalent
def step_by_step(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    log = []
    for batch in batches:
        run, row = reference.continue_run(run, [batch], n_heads, peak, warmup, longest, smoothing, pad)
        log.append(row[0].tolist())
    return run, np.reshape(log, (len(log), 2))


@continue_run.equivalent
def with_vectors(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Keep parameters and moments as vectors, and clip by hand."""
    like = run["params"]
    theta, (mean, squares) = flatten(like), map(flatten, run["moments"])
    log = []
    for step, (src, tgt) in enumerate(batches, start=run["step"] + 1):
        loss, gradients = pieces(unflatten(theta, like), src, tgt, n_heads, smoothing, pad)
        vector = flatten(gradients)
        length = math.sqrt(vector @ vector)
        vector = vector * min(1.0, longest / length)
        rate = peak * noam_learning_rate(step, 512, warmup) / noam_learning_rate(warmup, 512, warmup)
        theta, (mean, squares) = adam_step(theta, vector, (mean, squares), step, rate)
        log.append([loss, length])
    trees = [unflatten(vector, like) for vector in (theta, mean, squares)]
    new = {"params": trees[0], "moments": tuple(trees[1:]), "step": run["step"] + len(log)}
    return new, np.array(log).reshape(-1, 2)
