"""predicted_ablations: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.runs_to_order import UNSEEN
from autograder.exercises.project.ablations import CHANGES, PLAIN, SHOWN, changed, losses
from check.predictions import ORDER
from solutions import project as reference

predicted_ablations = Exercise(
    reference.predicted_ablations,
    outputs={"order": "5", "reasons": UNJUDGED, "sentence": UNJUDGED},  # the function returns the first
    section="Five changes, predicted",
    measure=ORDER,
    unseen=UNSEEN,
)


def case(draw, changes):
    """Return the inputs of a case: runs with one change each, in a drawn order, and the losses of all seeds."""
    runs = [changed(*changes[i]) for i in draw.rng.permutation(len(changes))]
    return {"runs": runs, "made": losses(runs), "moved": np.zeros(0), "asks": ["order alone"]}


def other(draw, name):
    """Draw a change of a setting that the chapter does not show, if there is one."""
    values = [value for value in CHANGES[name] if value != SHOWN[name]] or [SHOWN[name]]
    return name, draw.rng.choice(values).item()


@predicted_ablations.cases("the five of the chapter", points=1)
def _(draw):
    yield "five changes", case(draw, list(SHOWN.items()))


@predicted_ablations.cases("other amounts", points=2)
def _(draw):
    for number in range(1, 4):
        yield f"five changes, {number}", case(draw, [other(draw, name) for name in SHOWN])


@predicted_ablations.cases("words and rates", points=1)
def _(draw):
    few = ("words", draw.rng.choice((20, 60)).item())
    yield (
        "far below and far above",
        case(draw, [few, ("words", 9832), ("rate", 0.0003), ("rate", 0.003), ("rate", 0.1)]),
    )
    yield "a little off", case(draw, [few, ("words", 300), ("rate", 0.001), ("rate", 0.03), ("heads", 1)])


def order_by(predict, runs):
    return sorted(range(len(runs)), key=lambda i: predict(runs[i]))


def too_slow(rate):
    """Return what a rate costs that is below the best one, or above it."""
    decades = math.log10(rate / PLAIN["rate"])
    return 1.3 * max(0, -decades) + 1.7 * max(0, decades)


def by_heart(words):
    return 2.5 * max(0, math.log10(550 / words))


def predicted_loss(run, **known):
    """Return the sum of what each change costs; `known` replaces some of these."""
    costs = {
        "rate": too_slow(run["rate"]),
        "words": by_heart(run["words"]),
        "layers": 0.2 * (run["layers"] - 1) ** 1.5,
        "heads": 0,
        "smoothing": run["smoothing"],
    }
    return sum((costs | known).values())


@predicted_ablations.mistake("expects more of more layers")
def layers_help(runs):
    """You expect a lower loss from more layers. A deep model can learn more, but needs more steps for it. In 160 steps
    one layer learns more than three."""
    return order_by(lambda run: predicted_loss(run, layers=-0.3 * (run["layers"] - 1)), runs)


@predicted_ablations.mistake("expects much of more words")
def words_by_their_share(runs):
    """You expect much harm from a tenth of the words. Count how many words the run reads: 160 steps of 32 words are
    5,120. Out of 9,832 words it reads most at most once, so they are as good as all the words. Out of 300 it reads each
    17 times."""
    return order_by(lambda run: predicted_loss(run, words=1.5 * math.log10(PLAIN["words"] / run["words"])), runs)


@predicted_ablations.mistake("forgets that the loss is that of new words")
def few_words_are_easy(runs):
    """You expect a low loss from few words. On these words the loss is low, because the run learns them by heart. But
    you order the runs by the loss on words of *new* families."""
    return order_by(lambda run: predicted_loss(run, words=-by_heart(run["words"]) / 3), runs)


@predicted_ablations.mistake("takes the number of words for unimportant")
def words_ignored(runs):
    """You expect no difference from fewer words. That is right as long as the run reads a word once or twice. Divide
    the 5,120 words that it reads by the number of words that it has."""
    return order_by(lambda run: predicted_loss(run, words=0.05), runs)


@predicted_ablations.mistake("expects more from a higher rate, however high")
def higher_is_faster(runs):
    """You expect a lower loss from every higher rate. Up to a point that is right. At 0.1 a step of Adam is about as
    large as the parameters themselves, and the run learns little more than how frequent the sounds are."""
    return order_by(lambda run: predicted_loss(run, rate=-1.3 * math.log10(run["rate"] / PLAIN["rate"])), runs)


@predicted_ablations.mistake("expects more from a lower rate")
def lower_is_safer(runs):
    """You expect a lower loss from every lower rate. A low rate is safe but slow: 160 steps at a thirtieth of the rate
    hardly leave the beginning."""
    return order_by(lambda run: predicted_loss(run, rate=math.log10(run["rate"] / PLAIN["rate"])), runs)


@predicted_ablations.mistake("takes the rate for unimportant")
def rate_ignored(runs):
    """You expect little difference from another rate. Adam's step is about as long as the rate. A run whose rate is ten
    times too low goes a tenth of the way."""
    return order_by(lambda run: predicted_loss(run, rate=too_slow(run["rate"]) / 20), runs)


@predicted_ablations.mistake("expects much of four heads")
def heads_matter(runs):
    """You expect one head to cost as much as the other changes. One head over all 32 features has as many parameters as
    four of 8. For words of 3 to 10 letters, it is often enough to look at one place."""
    return order_by(lambda run: predicted_loss(run, heads=2 if run["heads"] == 1 else 0), runs)


@predicted_ablations.mistake("puts more smoothing before less")
def smoothing_helps(runs):
    """In your order a run with more smoothing comes before one with less. A smoothed label asks the model to give away
    a part of the probability, here 40%. The loss is measured without smoothing, so the probability that it gives away
    counts against it."""
    return order_by(lambda run: predicted_loss(run, smoothing=-run["smoothing"]), runs)


@predicted_ablations.mistake("takes the largest number for the largest change")
def by_the_factor(runs):
    """You order the runs by the factor of the change. The number of words may change by a factor of ten and cost
    nothing, and the number of layers by a factor of three and cost much. Ask of each setting what it does in 160
    steps."""

    def factor(run):
        return sum(abs(math.log(max(run[name], 0.01) / PLAIN[name])) for name in PLAIN)

    return order_by(factor, runs)


@predicted_ablations.mistake("begins with the highest")
def highest_first(runs):
    """Your order begins with the highest loss. Begin with the lowest."""
    return reference.predicted_ablations(runs)[::-1]


@predicted_ablations.mistake("returns the rank of each run")
def ranks(runs):
    """You return each run's place in the order. `order` should hold the indices of the runs, so `order[0]` is the run
    with the lowest loss. `np.argsort` of the predictions gives it."""
    return np.argsort(reference.predicted_ablations(runs)).tolist()


@predicted_ablations.equivalent
def as_a_sum_of_costs(runs):
    """What each change costs, with logarithms."""
    return np.argsort([predicted_loss(run) for run in runs])


@predicted_ablations.equivalent
def from_a_table(runs):
    """A list of changes, from the best to the worst."""
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
    """What changes little, what slows the run, and what ruins it."""

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
