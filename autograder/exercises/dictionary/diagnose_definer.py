import numpy as np

from autograder.authoring.diagnoses import NOTHING, one_of_each
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.short_runs import run_record
from solutions import dictionary as reference

diagnose_definer = Exercise(reference.diagnose_definer, outputs={"bug": ""}, section="What the loss does not show")
wrong = short_mistakes(diagnose_definer)
SLOPES = (  # from the end of the layer to its beginning
    "size of the norm forgotten", "slope of the gate cut short", "group averaged", "scale forgotten", "not turned back",
)  # fmt: skip


def records(draw, *bugs):
    return one_of_each(draw, "run", bugs, lambda bugs: ({"record": clear_record(bug, draw.rng)} for bug in bugs))


def clear_record(bug, rng):
    """Draw runs until the bug is clear for any sensible bound."""
    while is_unclear(bug, record := run_record(bug, rng)):
        pass
    return record


def is_unclear(bug, record):
    """Return whether a number that shows the bug is nearly a right one."""
    (own, trusted), (alone, with_padding) = record["held_out"], record["padded"]
    factors = {name: right and promised / right for name, (right, promised) in record["slopes"].items()}
    match bug:
        case "another function" | "no last norm":
            return abs(own - trusted) < 0.02
        case "padding counted":
            return abs(alone - with_padding) < 0.1
        case "decay in the gradient":
            return 0.85 < record["kept"][0] < 1.05
        case "size of the norm forgotten":
            return 0.95 < factors["w_down"] < 1.05
        case "slope of the gate cut short":
            return 0.95 < factors["w_gate"] < 1.05
        case "not turned back":
            return 0.95 < factors["w_key"] < 1.05 or 1.9 < factors["w_key"] < 2.1 or 1.9 < factors["w_query"] < 2.1
    return False


@diagnose_definer.cases("the output", points=2)
def _(draw):
    yield from records(draw, "no mask", "mask one late", "another function", "no last norm")


@diagnose_definer.cases("the gradient", points=2)
def _(draw):
    yield from records(draw, *SLOPES)


@diagnose_definer.cases("the loss and the step", points=2)
def _(draw):
    yield from records(draw, "losses added up", "padding counted", "gains decay", "decay in the gradient")


def naming(to, *bugs):
    """Return a diagnosis that calls each of the bugs `to`."""

    def diagnose(record):
        bug = reference.diagnose_definer(record)
        return to if bug in bugs else bug

    return diagnose


def loss_alone(record):
    return "losses added up" if record["loss"][0] > 10 else NOTHING


wrong("loss_alone", loss_alone)("""
    looks at the loss alone
    You call every run healthy whose loss falls from that of uniform guesses. It falls with most of these bugs. Ask what
    the other numbers must be in a right program.""")
wrong("last_row_as_leak", naming("mask one late", NOTHING))("""
    takes the last row for a leak
    You name a leak in a healthy run. The last entry of `moved` belongs to the changed token itself, which may move. No
    entry before it may.""")
wrong("any_leak_is_no_mask", naming("no mask", "mask one late"))("""
    takes a mask that is one late for none
    You name a missing mask whenever an entry before the last one moves. Without a mask, all of them move. If each token
    sees one token ahead, only as many move as there are layers.""")
wrong("any_leak_is_one_late", naming("mask one late", "no mask"))("""
    takes a missing mask for one that is late
    You look only at the neighbour of the changed token. It moves in both bugs. See whether the first entry of `moved`
    moves, too.""")
wrong("leak_as_function", naming("another function", "no mask", "mask one late"))("""
    takes a leak for another function
    A leak also computes something that a trusted program does not, so both losses differ. But `moved` says more: a
    token sees a later one.""")
wrong("leak_as_padding", naming("padding counted", "no mask", "mask one late"))("""
    takes a leak for counted padding
    With a leak, tokens see the padding behind the text, so the loss changes with it. Look at `moved` before you look at
    `padded`.""")
wrong("padding_as_function", naming("another function", "padding counted"))("""
    takes counted padding for another function
    You name another function when the two held-out losses differ. They also differ if padding counts as a target. Then
    padding changes the loss of one and the same text: see `padded`.""")
wrong("sum_as_function", naming("another function", "losses added up"))("""
    takes a sum for another function
    You name another function when the two held-out losses differ. A sum over all tokens differs, too, but its first
    loss is a hundred times that of uniform guesses.""")
wrong("no_norm_as_function", naming("another function", "no last norm"))("""
    takes a missing norm for another function
    The program does compute something else, but the record says what: no change of the last norm's gain changes the
    loss. Both of its slopes are zero.""")
wrong("function_missed", naming(NOTHING, "another function"))("""
    does not compare with a program that you trust
    You call a program right whose tests all fit. They compare it with itself. If a trusted program measures another
    loss with the same weights, the two compute different functions.""")
wrong("slopes_missed", naming(NOTHING, *SLOPES))("""
    does not look at the slopes
    You call a run healthy whose gradients are wrong. All losses can be right then. Compare the two numbers of each
    slope.""")
wrong("from_the_beginning", naming("not turned back", *SLOPES))("""
    looks for the first wrong slope from the beginning
    You blame queries and keys whenever their slopes are wrong. A wrong gradient makes all that come before it wrong,
    too. So go from the end of the layer to its beginning: `w_down`, `w_gate`, `w_value`, then queries and keys.""")
wrong("scale_as_turn", naming("not turned back", "scale forgotten"))("""
    takes a forgotten scale for a turn
    Queries and keys have wrong gradients in both bugs. If only the scale is missing, both are too long by the same
    factor, the root of `d_key`. Divide one number of the slope by the other.""")
wrong("turn_as_scale", naming("scale forgotten", "not turned back"))("""
    takes a turn for a forgotten scale
    Queries and keys have wrong gradients in both bugs. Without the scale, both are too long by exactly the root of
    `d_key`. Here the factors are others: the direction is wrong as well.""")
wrong("group_as_turn", naming("not turned back", "group averaged"))("""
    looks at the keys and not at the values
    You see that the gradient of the keys is wrong, and blame the turn. Values do not turn. If their slope is wrong,
    too, and by the same factor, look at what keys and values share.""")
wrong("group_as_scale", naming("scale forgotten", "group averaged"))("""
    takes every constant factor for the scale
    You name the scale because the keys are off by a constant factor. Look at which arrays have it: the scale belongs to
    queries and keys, and a group to keys and values.""")
wrong("gate_as_norm", naming("size of the norm forgotten", "slope of the gate cut short"))("""
    takes the gate for the norm
    Both bugs make the slopes of the gate and of all before it wrong. But `w_down` comes after the gate, so only what
    comes later still, the last norm, can make its slope wrong.""")
wrong("gains_as_coupled", naming("decay in the gradient", "gains decay"))("""
    takes every wrong step for a coupled decay
    You see that the step is wrong, but not where. With decay in the gradient, a *matrix* does not keep 1 - 0.1 * 0.5.
    If a *gain* keeps less than all, it decays.""")
wrong("gains_missed", naming(NOTHING, "gains decay"))("""
    looks at the matrix and not at the gain
    You miss that gains decay. The second number of `kept` belongs to a gain, which must keep everything.""")
wrong("coupled_missed", naming(NOTHING, "decay in the gradient"))("""
    does not compute what the matrix should keep
    You miss a step that is wrong for matrices. With a gradient of zero, a matrix keeps 1 - 0.1 * 0.5, no more and no
    less.""")
wrong("decay_of_a_healthy_run", naming("decay in the gradient", NOTHING))("""
    takes decay for a bug
    You name a bug in a healthy run, because its matrix does not keep everything. It keeps 1 - 0.1 * 0.5, as AdamW
    should. Only gains keep all.""")


@diagnose_definer.equivalent
def by_factors(record):
    """Divide, with wide bounds."""
    early, (alone, with_padding), (own, trusted) = record["moved"][:-1], record["padded"], record["held_out"]
    if early.max() > 0.01:
        return "no mask" if early.min() > 0.01 else "mask one late"
    if own > 5 * trusted:
        return "losses added up"
    if np.abs(with_padding / alone - 1) > 0.01:
        return "padding counted"
    slopes = record["slopes"]
    if max(slopes["norm"]) < 1e-9:
        return "no last norm"
    factors = {name: promised / measured for name, (measured, promised) in slopes.items()}
    if np.abs(own - trusted) > 0.01:
        return "another function"
    if record["kept"][1] < 0.97:
        return "gains decay"
    if not 0.93 < record["kept"][0] < 0.97:
        return "decay in the gradient"
    for name, bug in {"w_down": SLOPES[0], "w_gate": SLOPES[1], "w_value": SLOPES[2]}.items():
        if np.abs(factors[name] - 1) > 0.03:
            return bug
    if np.abs(factors["w_key"] - 1) < 0.03:
        return NOTHING
    return "scale forgotten" if np.abs(factors["w_key"] - 2) < 0.03 else "not turned back"


@diagnose_definer.equivalent
def by_what_is_right(record):
    """Clear a healthy run first, then ask one question after the other."""
    slopes = {name: np.isclose(*pair, rtol=1e-4) for name, pair in record["slopes"].items()}
    step_is_right = np.allclose(record["kept"], [0.95, 1], atol=0.01)
    losses_agree = np.isclose(*record["held_out"], rtol=1e-4) and np.isclose(*record["padded"], rtol=1e-4)
    if all(slopes.values()) and step_is_right and losses_agree and not record["moved"][:-1].any():
        return np.str_(NOTHING)
    if not step_is_right:
        return "gains decay" if record["kept"][1] < 0.99 else "decay in the gradient"
    n_moved = np.count_nonzero(record["moved"][:-1] > 1e-9)
    if n_moved:
        return "no mask" if n_moved == len(record["moved"]) - 1 else "mask one late"
    if not losses_agree:
        if record["loss"][0] > 20:
            return "losses added up"
        if not np.isclose(*record["padded"], rtol=1e-3):
            return "padding counted"
        return "another function" if record["slopes"]["norm"].all() else "no last norm"
    first_wrong = next(name for name in ("w_down", "w_gate", "w_value", "w_key") if not slopes[name])
    by_array = dict(zip(("w_down", "w_gate", "w_value"), SLOPES, strict=False))
    doubled = np.isclose(record["slopes"]["w_query"][1], 2 * record["slopes"]["w_query"][0], rtol=0.01)
    return by_array.get(first_wrong) or ("scale forgotten" if doubled else "not turned back")


@diagnose_definer.equivalent
def by_both_arrays(record):
    """Compare differences, and ask queries and keys together."""
    gaps = {name: np.ptp(pair) / max(abs(pair).max(), 1e-12) for name, pair in record["slopes"].items()}
    moved = np.flatnonzero(record["moved"] > 1e-7)
    if len(moved) > 1:
        return "mask one late" if moved[0] else "no mask"
    if np.log(record["loss"][0]) > 2:
        return "losses added up"
    if np.ptp(record["padded"]) > 0.005:
        return "padding counted"
    if np.ptp(record["held_out"]) > 0.005:
        return "no last norm" if record["slopes"]["norm"].sum() == 0 else "another function"
    matrix, gain = record["kept"].round(3)
    if (matrix, gain) != (0.95, 1):
        return "gains decay" if gain != 1 else "decay in the gradient"
    if gaps["w_down"] > 0.002:
        return SLOPES[0]
    if gaps["w_gate"] > 0.002:
        return SLOPES[1]
    if gaps["w_value"] > 0.002:
        return SLOPES[2]
    if max(gaps["w_query"], gaps["w_key"]) > 0.002:
        halved = [abs(gaps[name] - 0.5) < 0.005 for name in ("w_query", "w_key")]
        return SLOPES[3] if all(halved) else SLOPES[4]
    return NOTHING
