import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.runs_to_order import OUTPUTS, UNSEEN, ask_for_order
from autograder.authoring.short_mistakes import short_mistakes
from check.predictions import ORDER
from solutions import depth as reference
from solutions.predictions import order_and_reasons
from solutions.stacks import top_gradients

predicted_gradients = Exercise(
    reference.predicted_gradients, outputs=OUTPUTS, section="Before or after?", measure=ORDER, unseen=UNSEEN
)
wrong = short_mistakes(predicted_gradients)


def stack(norm, depth, update):
    return {"norm": norm, "depth": int(depth), "update": round(float(update), 2)}


def by_depth(draw, post=(11, 13)):
    """Return three pre-norm stacks of different depths, and a post-norm stack that is deeper than one of them."""
    update = draw.rng.uniform(0.9, 1.1)
    ranges = ("pre", 4, 6), ("pre", 13, 17), ("pre", 48, 60), ("post", *post)
    return [stack(norm, draw.size(low, high), update) for norm, low, high in ranges]


def by_depth_with_deep_post(draw):
    """Return stacks as in `by_depth`, with a post-norm stack that is deeper than two of the others."""
    return by_depth(draw, post=(36, 46))


def by_small_updates(draw, shallow=(14, 18), deep=(20, 25), post=(26, 32)):
    """Return stacks, the deep ones with small updates."""
    large, small = draw.rng.uniform(0.95, 1.1), draw.rng.uniform(0.25, 0.3)
    return [
        stack("pre", draw.size(48, 60), large),
        stack("pre", draw.size(*shallow), large),
        stack("pre", draw.size(*deep), small),
        stack("post", draw.size(*post), small),
    ]


def by_many_small_updates(draw):
    """Return stacks, including a deep stack with a smaller variance but a larger sum of standard deviations."""
    return by_small_updates(draw, shallow=(14, 16), deep=(68, 72), post=(76, 86))


def by_large_updates(draw):
    """Return stacks, including a post-norm stack with large updates."""
    large, small = draw.rng.uniform(1.4, 1.6), draw.rng.uniform(0.2, 0.22)
    return [
        stack("pre", draw.size(40, 49), large),
        stack("pre", draw.size(8, 11), large),
        stack("post", draw.size(24, 30), large),
        stack("pre", draw.size(5, 7), small),
    ]


ask_for_order(
    predicted_gradients,
    top_gradients,
    "depth and norm",
    {"four stacks": by_depth, "four more": by_depth_with_deep_post},
    points=1,
)
ask_for_order(
    predicted_gradients,
    top_gradients,
    "the size of the updates",
    {"small updates": by_many_small_updates, "large updates": by_large_updates},
    points=1,
)
ask_for_order(
    predicted_gradients,
    top_gradients,
    "the reasons",
    {"depth and norm": by_depth, "small updates": by_small_updates, "large updates": by_large_updates},
    points=2,
    reasons=True,
)


def variance(n_updates, run):
    """Return the variance of the sum of the words and this many updates."""
    return 1 + n_updates * run["update"] ** 2


def ordered(runs, *, by):
    return order_and_reasons(by, runs)


@predicted_gradients.mistake("counts all updates in post-norm, too")
def post_sums_all(runs):
    """You expect the same gradient from both norms. In post-norm a norm follows each sum, so the last norm gets one
    normalised row and one update, however deep the stack is. Only the pre-norm stream adds up all updates."""
    return ordered(runs, by=lambda run: 1 / variance(run["depth"], run))


wrong(
    "post_vanishes",
    ordered,
    by=lambda run: 1 / variance(run["depth"], run) if run["norm"] == "pre" else 1e-3 / run["depth"],
)("""
    lets each norm shrink the gradient on its way
    You let the gradient pass all norms of a post-norm stack. The gradient at the *top* passes only the last norm,
    because the last sub-layer is directly below that norm. Further down, the sub-layers make up for the shrinking by
    the norms.""")
wrong("norms_exchanged", ordered, by=lambda run: 1 / variance(run["depth"] if run["norm"] == "post" else 1, run))("""
    lets the gradient fall in post-norm and not in pre-norm
    You swapped the norms. The pre-norm stream is never normalised on its way, so the sum before the last norm grows
    with the depth. In post-norm this sum has two terms at any depth.""")
wrong("update_ignored", ordered, by=lambda run: 1 / (1 + (run["depth"] if run["norm"] == "pre" else 1)))("""
    ignores the size of the updates
    You count the updates and ignore their size. An update of standard deviation 0.25 adds 0.06 to the variance of the
    sum, and an update of standard deviation 1.5 adds 2.25.""")
wrong("depth_ignored", ordered, by=lambda run: 1 / variance(2 if run["norm"] == "pre" else 1, run))("""
    looks at the size of one update alone
    You look at the size of one update and ignore how many updates a sum has. In pre-norm, the sum before the last norm
    has one update for each sub-layer, and their variances add up.""")
wrong("deviations_add_up", ordered, by=lambda run: -(run["depth"] if run["norm"] == "pre" else 1) * run["update"])("""
    adds standard deviations
    You multiply the number of updates by their standard deviation. For independent updates it is the *variances* that
    add up: 70 updates of standard deviation 0.25 have a total variance of 4.4, and 15 updates of standard deviation 1
    have 15. Square the standard deviation first.""")
wrong(
    "larger_updates",
    ordered,
    by=lambda run: run["update"] ** 4 / variance(run["depth"] if run["norm"] == "pre" else 1, run),
)("""
    expects more from larger updates
    You expect a larger gradient from larger updates. The gradient of the last weight passes the norm, which divides it
    by the standard deviation of the sum. Larger updates make the sum larger, and the gradient smaller.""")
wrong(
    "post_first",
    ordered,
    by=lambda run: 1 / variance(run["depth"], run) if run["norm"] == "pre" else 2 - run["update"] / 10,
)("""
    gives every post-norm stack the largest gradient
    You give post-norm the largest gradient in every case. Its last norm also divides by the standard deviation of a
    sum, the sum of one normalised row and one update. If this update is large, a shallow pre-norm stack with small
    updates gets a larger gradient.""")


@predicted_gradients.mistake("begins with the largest")
def largest_first(runs):
    """Your order begins with the largest gradient. Begin with the smallest: the norm divides by the spread of the sum,
    so the stack with the largest spread comes first."""
    order, reasons = reference.predicted_gradients(runs)
    return order[::-1], reasons[::-1]


@predicted_gradients.mistake("returns the rank of each stack")
def ranks(runs):
    """You return each stack's place in the order. `order` should hold the indices of the stacks, so `order[0]` is the
    stack with the smallest gradient. `np.argsort` of the predictions gives it."""
    order, reasons = reference.predicted_gradients(runs)
    return np.argsort(order), reasons


@predicted_gradients.mistake("names the depth for every pair")
def depth_for_all(runs):
    """You name the depth for every pair. In post-norm the depth does not matter at all, and many small updates weigh
    less than a few large ones. Give the first stack of the pair each setting of the second in turn, and compare."""
    return reference.predicted_gradients(runs)[0], ["depth"] * 3


@predicted_gradients.mistake("names the norm wherever it differs")
def norm_if_it_differs(runs):
    """You name the norm whenever the two stacks differ in it. Other settings may differ, too. Change only the norm and
    predict again. If the gradient does not come near the other stack's gradient, the norm does not decide."""
    order, reasons = reference.predicted_gradients(runs)
    pairs = zip(order, order[1:], reasons, strict=False)
    return order, ["norm" if runs[one]["norm"] != runs[other]["norm"] else reason for one, other, reason in pairs]


@predicted_gradients.equivalent
def by_the_spread(runs):
    """Sort by the variance, the largest first, and try each setting."""

    def spread(run):
        return (run["depth"] if run["norm"] == "pre" else 1) * run["update"] ** 2

    order = np.argsort([-spread(run) for run in runs])
    reasons = []
    for first, second in zip(order[:-1], order[1:], strict=True):
        goal = np.log1p(spread(runs[second]))
        tries = {name: runs[first] | {name: runs[second][name]} for name in ("norm", "depth", "update")}
        reasons.append(min(tries, key=lambda name: abs(np.log1p(spread(tries[name])) - goal)))
    return order, reasons


@predicted_gradients.equivalent
def by_rules(runs):
    """Find the reasons by rules, and return tuples."""
    terms = [(run["depth"] if run["norm"] == "pre" else 1) * run["update"] ** 2 for run in runs]
    order = tuple(sorted(range(4), key=lambda i: -terms[i]))
    reasons = []
    for i, j in zip(order, order[1:], strict=False):
        first, second = runs[i], runs[j]
        if first["update"] > 2 * second["update"]:
            reasons.append("update")
        else:
            reasons.append("norm" if first["norm"] != second["norm"] else "depth")
    return order, tuple(reasons)


@predicted_gradients.equivalent
def by_adding_up(runs):
    """Add up variances layer by layer, and leave the rest to the page's function."""

    def prediction(run):
        total = 1.0
        for _ in range(run["depth"]):
            total = (total if run["norm"] == "pre" else 1.0) + run["update"] * run["update"]
        return total**-0.5

    return list(order_and_reasons(prediction, runs))
