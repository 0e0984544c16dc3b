import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.runs_to_order import OUTPUTS, UNSEEN, both_names, both_orders
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.project.ablations import PLAIN, SHOWN, changed, changes, losses
from check.predictions import ORDER
from solutions import project as reference

predicted_ablations = Exercise(
    reference.predicted_ablations,
    outputs=OUTPUTS | {"order": "n", "reasons": UNJUDGED},  # the function returns the first
    section="Five changes, predicted",
    measure=ORDER,
    unseen=UNSEEN,
)
wrong = short_mistakes(predicted_ablations)


def cases(draw, name, changes):
    """Yield two cases for a list of changes: runs with one change each, and the losses of all seeds."""
    runs = [changed(*change) for change in changes]
    for case, order in zip(both_names(name), both_orders(draw, losses(runs)), strict=True):
        listed = [runs[i] for i in order]
        yield case, {"runs": listed, "made": losses(listed), "moved": np.zeros(0), "asks": ["order alone"]}


@predicted_ablations.cases("the five of the chapter", points=1)
def _(draw):
    yield from cases(draw, "five changes", SHOWN.items())


@predicted_ablations.cases("all changes", points=2)
def _(draw):
    yield from cases(draw, "all changes", changes(draw.at_home))


@predicted_ablations.cases("words and rates", points=1)
def _(draw):
    words_and_rates = [change for change in changes(draw.at_home) if change[0] in ("words", "rate")]
    yield from cases(draw, "words and rates", words_and_rates)


def order_by(predict, runs):
    return sorted(range(len(runs)), key=lambda i: predict(runs[i]))


def too_slow(rate):
    """Return how much a rate costs that is below or above the best rate."""
    decades = math.log10(rate / PLAIN["rate"])
    return 1.3 * max(0, -decades) + 1.7 * max(0, decades)


def by_heart(words):
    return 2.5 * max(0, math.log10(550 / words))


def predicted_loss(run, **known):
    """Return the total cost of the changes; functions in `known` replace some of the costs."""
    costs = {
        "rate": too_slow(run["rate"]),
        "words": by_heart(run["words"]),
        "layers": 0.2 * (run["layers"] - 1) ** 1.5,
        "heads": 0,
        "smoothing": run["smoothing"],
    }
    return sum((costs | {name: cost(run) for name, cost in known.items()}).values())


def ordered(runs, **known):
    return order_by(lambda run: predicted_loss(run, **known), runs)


@predicted_ablations.mistake("expects more of more layers")
def layers_help(runs):
    """You expect a lower loss from more layers. A deep model can learn more, but needs more steps for it. In 160 steps
    one layer learns more than three."""
    return ordered(runs, layers=lambda run: -0.3 * (run["layers"] - 1))


wrong("words_by_their_share", ordered, words=lambda run: 1.5 * math.log10(PLAIN["words"] / run["words"]))("""
    expects much of more words
    You expect much harm from a tenth of the words. Count how many words the run reads: 160 steps of 32 words are 5,120.
    Out of 9,832 words it reads most at most once, so these words are as good as all the words. Out of 300 words it
    reads each 17 times.""")
wrong("few_words_are_easy", ordered, words=lambda run: -by_heart(run["words"]) / 3)("""
    forgets that the loss is that of new words
    You expect a low loss from few words. On these few words the loss is low, because the run learns them by heart. But
    you order the runs by the loss on words of *new* families.""")
wrong("words_ignored", ordered, words=lambda run: 0.05)("""
    takes the number of words for unimportant
    You expect no difference from fewer words. That is right as long as the run reads a word once or twice. Divide the
    5,120 words that it reads by the number of words that it has.""")
wrong("higher_is_faster", ordered, rate=lambda run: -1.3 * math.log10(run["rate"] / PLAIN["rate"]))("""
    expects more from a higher rate, however high
    You expect a lower loss from every higher rate. Up to a point that is right. At 0.1 a step of Adam is about as large
    as the parameters themselves, and the run learns little more than how frequent the sounds are.""")
wrong("lower_is_safer", ordered, rate=lambda run: math.log10(run["rate"] / PLAIN["rate"]))("""
    expects more from a lower rate
    You expect a lower loss from every lower rate. A low rate is safe but slow: in 160 steps at a thirtieth of the rate,
    the model learns hardly anything.""")
wrong("rate_ignored", ordered, rate=lambda run: too_slow(run["rate"]) / 20)("""
    takes the rate for unimportant
    You expect little difference from another rate. Adam's step is about as long as the rate. A run whose rate is ten
    times too low goes a tenth of the way.""")
wrong("heads_matter", ordered, heads=lambda run: 2 if run["heads"] == 1 else 0)("""
    expects much of four heads
    You expect one head to cost as much as the other changes. One head over all 32 features has as many parameters as
    four of 8. For words of 3 to 10 letters, it is often enough to look at one place.""")
wrong("smoothing_helps", ordered, smoothing=lambda run: -run["smoothing"])("""
    puts more smoothing before less
    In your order a run with more smoothing comes before one with less. A smoothed label asks the model to give away a
    part of the probability, here 40%. The loss here is without smoothing, so the probability that the model gives away
    counts against it.""")


@predicted_ablations.mistake("takes the largest number for the largest change")
def by_the_factor(runs):
    """You order the runs by the factor of the change. The number of words may change by a factor of ten and cost
    nothing, and the number of layers by a factor of three and cost much. For each setting, ask what it does in 160
    steps."""

    def factor(run):
        return sum(abs(math.log(max(run[name], 0.01) / PLAIN[name])) for name in PLAIN)

    return order_by(factor, runs)


wrong("highest_first", lambda runs: reference.predicted_ablations(runs)[::-1])("""
    begins with the highest
    Your order begins with the highest loss. Begin with the lowest.""")
wrong("ranks", lambda runs: np.argsort(reference.predicted_ablations(runs)).tolist())("""
    returns the rank of each run
    You return each run's place in the order. `order` should hold the indices of the runs, so `order[0]` is the run with
    the lowest loss. `np.argsort` of the predictions gives it.""")


@predicted_ablations.equivalent
def as_a_sum_of_costs(runs):
    """Add up the costs of the changes, with logarithms."""
    return np.argsort([predicted_loss(run) for run in runs])


@predicted_ablations.equivalent
def from_a_table(runs):
    """Look up each change in a list from the best to the worst."""
    table = [
        ("smoothing", 0),
        ("heads", 1),
        ("words", 9832),
        ("layers", 2),
        ("smoothing", 0.4),
        ("layers", 3),
        ("rate", 0.003),
        ("words", 300),
        ("rate", 0.03),
        ("rate", 0.001),
        ("rate", 0.1),
        ("rate", 0.0003),
        ("words", 60),
        ("words", 20),
    ]

    def place(run):
        return next(i for i, (name, value) in enumerate(table) if run[name] == value)

    return tuple(order_by(place, runs))


@predicted_ablations.equivalent
def in_classes(runs):
    """Divide the changes into those with little effect, those that slow the run, and those that ruin it."""

    def grade(run):
        passes = 5120 / run["words"]
        if passes > 50:
            return 9 + passes
        if passes > 5:
            return 4
        off = abs(math.log10(run["rate"] / 0.01))
        if off > 0.1:
            return 3 + 3 * off + (run["rate"] > 0.01)
        return run["layers"] + 3 * run["smoothing"]

    return order_by(grade, runs)
