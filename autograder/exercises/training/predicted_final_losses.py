import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.runs_to_order import OUTPUTS, UNSEEN, ask_for_order
from autograder.authoring.short_mistakes import short_mistakes
from check.predictions import ORDER
from solutions import training as reference
from solutions.predictions import order_and_reasons
from solutions.schedules import N_CLASSES, N_STEPS, final_losses

predicted_final_losses = Exercise(
    reference.predicted_final_losses,
    outputs=OUTPUTS,
    section="Four runs, predicted",
    measure=ORDER,
    unseen=UNSEEN,
)
wrong = short_mistakes(predicted_final_losses)


def settings(rate, warmup, smoothing):
    return {"rate": float(f"{rate:.2g}"), "warmup": int(warmup), "smoothing": round(float(smoothing), 2)}


def by_smoothing(draw):
    """Return three runs with a good rate and different smoothing, and a slow one."""
    good, warmup = draw.rng.uniform(0.08, 0.11), draw.size(8, 14)
    return [
        settings(good, warmup, 0),
        settings(good, warmup, draw.rng.uniform(0.09, 0.12)),
        settings(good, warmup, draw.rng.uniform(0.27, 0.33)),
        settings(draw.rng.uniform(0.001, 0.0013), warmup, 0),
    ]


def by_rate(draw):
    """Return runs, one of which has a good rate but a high floor."""
    good, warmup = draw.rng.uniform(0.08, 0.11), draw.size(8, 14)
    return [
        settings(good, warmup, 0),
        settings(draw.rng.uniform(0.011, 0.014), warmup, 0),
        settings(good, warmup, draw.rng.uniform(0.27, 0.33)),
        settings(draw.rng.uniform(0.001, 0.0013), warmup, 0),
    ]


def by_long_warmup(draw):
    """Return runs with one rate, two of which end long before their warm-up does."""
    good, warmup = draw.rng.uniform(0.1, 0.12), draw.size(8, 14)
    return [
        settings(good, warmup, 0),
        settings(good, draw.size(560, 660), 0),
        settings(good, warmup, draw.rng.uniform(0.27, 0.33)),
        settings(good, draw.size(12_000, 16_000), 0),
    ]


def by_high_rate(draw):
    """Return runs with a rate that is too high, which a long warm-up never lets them reach."""
    high, warmup, long_warmup = draw.rng.uniform(1, 1.2), draw.size(8, 14), draw.size(950, 1100)
    smoothing = draw.rng.uniform(0.27, 0.33)
    return [
        settings(high, long_warmup, 0),
        settings(draw.rng.uniform(0.04, 0.055), warmup, 0.1),
        settings(high, long_warmup, smoothing),
        settings(high, warmup, smoothing),
    ]


ask_for_order(
    predicted_final_losses, final_losses, "rate and smoothing", {"smoothing": by_smoothing, "rate": by_rate}, points=1
)
ask_for_order(
    predicted_final_losses,
    final_losses,
    "the warm-up",
    {"a long warm-up": by_long_warmup, "a high rate": by_high_rate},
    points=1,
)
ask_for_order(
    predicted_final_losses,
    final_losses,
    "the reasons",
    {"rate and smoothing": by_rate, "a long warm-up": by_long_warmup, "a high rate": by_high_rate},
    points=2,
    reasons=True,
)


def excess(run, reached=None):
    """Return how far above its floor the loss ends without smoothing, as in the runs that the chapter shows."""
    reached = run["rate"] * min(1, N_STEPS / run["warmup"]) if reached is None else reached
    return float(np.interp(math.log10(reached), (-3, -2, -1, 0), (2.2, 0.8, 0.15, 2.2)))


def floor(run):
    return reference.label_entropy(N_CLASSES, run["smoothing"])


def predicted_loss(run, reached=None):
    """Return the final loss: the floor, and above it the same share as in a run without smoothing."""
    return floor(run) + excess(run, reached) * (1 - floor(run) / math.log(N_CLASSES))


wrong("floor_forgotten", lambda runs: order_and_reasons(excess, runs))("""
    forgets the floor -> Where the loss begins and ends
    You order the runs by how well they learn. The *loss* has a floor, the entropy of the smoothed label. A run with a
    smoothing of 0.3 cannot end below 1.2 here, but a mediocre run without smoothing can.""")
wrong("smoothing_lowers", lambda runs: order_and_reasons(lambda run: excess(run) - floor(run) / 2, runs))("""
    expects smoothing to lower the loss -> Where the loss begins and ends
    You expect a lower loss from smoothing. It may help the model on new data. But the loss that the run minimises is
    measured with the smoothed labels, and their entropy is a floor under it: more smoothing means a higher floor.""")
wrong("smoothing_alone", lambda runs: order_and_reasons(lambda run: 10 * floor(run) + excess(run), runs))("""
    orders by the smoothing alone -> How high a peak?
    You order the runs by their floors and use the rate only between equal ones. A run whose rate is far too low stays
    near the loss of a model that knows nothing, which is above every floor.""")


@predicted_final_losses.mistake("expects the rate to be reached at once", reread="The learning-rate schedule")
def warmup_ignored(runs):
    """You assume that the run has the rate `rate` from the start. The schedule reaches it at step `warmup`. A run of 80
    steps with a warm-up of 800 ends at a tenth of it."""
    return order_and_reasons(lambda run: predicted_loss(run, run["rate"]), runs)


@predicted_final_losses.mistake("takes a long warm-up for safe in every run", reread="The learning-rate schedule")
def warmup_helps(runs):
    """You expect a lower loss from a longer warm-up. It protects a run whose rate is too high. If the rate is right, a
    run that ends before its warm-up never reaches the rate that it needs."""
    return order_and_reasons(lambda run: predicted_loss(run, run["rate"]) - math.log(run["warmup"]) / 4, runs)


@predicted_final_losses.mistake("takes a long warm-up for slow in every run", reread="The learning-rate schedule")
def warmup_hurts(runs):
    """You expect a higher loss from a longer warm-up in every run. It lowers the rate that a run reaches. If the
    highest rate is ten times too high, a run that ends at a tenth of it learns well."""
    return order_and_reasons(lambda run: predicted_loss(run, run["rate"] ** 0.1) + math.log(run["warmup"]), runs)


@predicted_final_losses.mistake("expects more from a higher rate, however high", reread="How high a peak?")
def higher_is_faster(runs):
    """You expect a lower loss from every higher rate. That is right only below the valley. At a rate of 1 each step of
    Adam moves every parameter farther than its own size, and the loss stays high."""

    def prediction(run):
        reached = run["rate"] * min(1, N_STEPS / run["warmup"])
        return predicted_loss(run, min(reached, 0.1)) - reached / 100

    return order_and_reasons(prediction, runs)


@predicted_final_losses.mistake("expects more from a lower rate", reread="How high a peak?")
def lower_is_safer(runs):
    """You expect a lower loss from every lower rate. A low rate is safe but slow. After 80 steps at 0.001, the loss is
    still near that of a model that knows nothing."""

    def prediction(run):
        return floor(run) + run["rate"] * min(1, N_STEPS / run["warmup"])

    return order_and_reasons(prediction, runs)


@predicted_final_losses.mistake("begins with the highest")
def highest_first(runs):
    """Your order begins with the highest loss. Begin with the lowest."""
    order, reasons = reference.predicted_final_losses(runs)
    return order[::-1], reasons[::-1]


@predicted_final_losses.mistake("returns the rank of each run")
def ranks(runs):
    """You return each run's place in the order. `order` should hold the indices of the runs, so `order[0]` is the run
    with the lowest loss. `np.argsort` of the predictions gives it."""
    order, reasons = reference.predicted_final_losses(runs)
    return np.argsort(order), reasons


wrong("rate_for_all", lambda runs: (reference.predicted_final_losses(runs)[0], ["rate"] * 3))("""
    names the rate for every pair
    You name the rate for every pair. Two runs with the same rate can differ by their floors, or by the rate that they
    have reached when they end. Give the first run of the pair each setting of the second in turn, and compare.""")


@predicted_final_losses.mistake("names the smoothing wherever it differs")
def smoothing_if_it_differs(runs):
    """You name the smoothing whenever two runs differ in it. Other settings may differ, too. Change only the smoothing
    and predict again. If the loss does not come near the other run's loss, the smoothing does not decide."""
    order, reasons = reference.predicted_final_losses(runs)
    pairs = zip(order, order[1:], reasons, strict=False)
    return order, [
        "smoothing" if runs[one]["smoothing"] != runs[other]["smoothing"] else reason for one, other, reason in pairs
    ]


@predicted_final_losses.equivalent
def read_off(runs):
    """Interpolate between the runs of the chapter, and add the floor."""
    return order_and_reasons(predicted_loss, runs)


@predicted_final_losses.equivalent
def in_three_classes(runs):
    """Divide the runs into those that learn, those that learn half-way, and those that do not learn."""

    def prediction(run):
        far = abs(math.log10(run["rate"] * min(1, N_STEPS / run["warmup"])) + 1)
        lowest, highest = floor(run), math.log(11)
        return lowest if far < 0.4 else lowest + 0.3 * (highest - lowest) if far < 1.2 else highest + far / 10

    order = np.argsort([prediction(run) for run in runs])
    reasons = []
    for i, j in zip(order[:-1], order[1:], strict=True):
        names = list(runs[i])
        tries = [abs(prediction(runs[i] | {name: runs[j][name]}) - prediction(runs[j])) for name in names]
        reasons.append(names[int(np.argmin(tries))])
    return order.tolist(), reasons


@predicted_final_losses.equivalent
def by_the_sum_of_the_rates(runs):
    """Predict from how far Adam can go in total; a run with too high a rate does not learn."""

    def prediction(run):
        steps = np.arange(1, N_STEPS + 1)
        rates = run["rate"] * np.minimum(steps / run["warmup"], np.sqrt(run["warmup"] / steps))
        lowest, highest = floor(run), math.log(N_CLASSES)
        if rates.max() > 0.5:
            return highest
        return lowest + (highest - lowest) * math.exp(-3 * rates.sum())

    order = sorted(range(len(runs)), key=lambda i: prediction(runs[i]))
    return tuple(order), tuple(order_and_reasons(prediction, runs)[1])
