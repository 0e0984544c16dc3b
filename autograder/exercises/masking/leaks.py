"""leaks: its cases, its known mistakes and its right rewrites."""

from functools import partial
from itertools import combinations, permutations, product

import numpy as np

from autograder.authoring.exercise import Exercise
from check import given_functions
from solutions import masking as reference


def spliced(decoder, sequences):
    """Each sequence, then that sequence up to a cut and another one from there, for each other one and each cut."""
    for i, x in enumerate(sequences):
        yield x
        for other in np.delete(sequences, i, axis=0):
            yield from (np.concatenate([x[:t], other[t:]]) for t in range(1, len(x)))


leaks = Exercise(
    reference.leaks,
    outputs={"leaks": ""},
    section="A leak detector",
    likely=spliced,
)


def trial(draw, decoder, n=3):
    """A decoder, and sequences of vectors on which to try it, different everywhere."""
    T, d = draw.size(4, 7), draw.size(2, 5)
    return {"decoder": decoder, "sequences": draw.normal(n, T, d)}


def tried(draw, *decoders):
    for decoder in decoders:
        yield decoder.__name__.replace("_", " "), trial(draw, decoder)


def one_above_three(draw, decoder, which):
    """Sequences of which one alone has entries above 3."""
    inputs = trial(draw, decoder)
    inputs["sequences"] = np.tanh(inputs["sequences"])
    inputs["sequences"][which] += 5
    return inputs


def mixtures(draw):
    """Decoders drawn anew, that no table of known ones has. Two or three of the four leak, anywhere."""
    names = ("a mixture", "another mixture", "a third mixture", "a fourth mixture")
    leaky = draw.rng.permutation([True, True, False, draw.rng.random() < 0.5])
    for name, leaks_somewhere in zip(names, leaky, strict=True):
        inputs = trial(draw, None)
        T = inputs["sequences"].shape[1]
        weights = np.tril(draw.normal(T, T))
        if leaks_somewhere:
            hears, heard = sorted(draw.rng.choice(T, size=2, replace=False))
            weights[hears, heard] = draw.rng.choice([-1.0, 1.0])
        yield name, inputs | {"decoder": given_functions.Mixture(weights)}


# A detector that always gives the same answer fails every aspect: each has leaky decoders and tight ones.
@leaks.cases("wide open, or shut", points=2)
def _(draw):
    yield from tried(draw, given_functions.looks_around, given_functions.looks_back, given_functions.running_sum)
    yield from tried(
        draw, given_functions.each_position_alone, given_functions.sum_of_the_past, given_functions.centred_over_time
    )
    yield from mixtures(draw)


@leaks.cases("one step, one place", points=1)
def _(draw):
    yield from tried(
        draw, given_functions.looks_one_ahead, given_functions.first_hears_second, given_functions.first_hears_third
    )
    yield from tried(draw, given_functions.last_but_one_hears_last, given_functions.looks_back)
    yield from mixtures(draw)
    yield from tried(draw, given_functions.first_hears_the_phase_of_the_last, given_functions.running_share)
    yield from tried(draw, given_functions.hears_with_both_signs)
    yield "hears above three", one_above_three(draw, given_functions.hears_above_three, 2)
    for name, which in (("first", 0), ("second", 1), ("last", 2)):
        yield (
            f"above three hears, in the {name} sequence",
            one_above_three(draw, given_functions.above_three_hears, which),
        )
    inputs = trial(draw, given_functions.hears_opposites)
    signs = np.array([1, -1, 1])[:, None, None]
    yield "hears opposites", inputs | {"sequences": signs * np.abs(inputs["sequences"])}


@leaks.cases("small leaks, and rounding", points=1)
def _(draw):
    yield from tried(
        draw, given_functions.divides_by_all, given_functions.whispers, given_functions.all_minus_the_future
    )
    yield from mixtures(draw)
    yield from tried(draw, given_functions.breathes, given_functions.breathes_near_a_hundred)


@leaks.cases("tokens and edge cases", points=1)
def _(draw):
    T = draw.size(5, 9)
    steps = np.stack([[0, *draw.rng.permutation(np.arange(1, 10))[:2]] for _ in range(T)], axis=1)
    tokens = (draw.tokens(T, low=0) + steps) % 10
    for decoder in (given_functions.running_sum, given_functions.centred_over_time):
        name = decoder.__name__.replace("_", " ")
        yield f"tokens, {name}", {"decoder": decoder, "sequences": tokens}
    inputs = trial(draw, given_functions.centred_over_time)
    yield "two positions", inputs | {"sequences": inputs["sequences"][:, :2]}
    yield "a single position", inputs | {"sequences": inputs["sequences"][:, :1]}
    yield from mixtures(draw)


fixed_tolerance = partial(np.allclose, rtol=0, atol=1e-6)


def searched(
    decoder, sequences, *,
    pairs=None, cuts=lambda T: range(1, T), compared=lambda t: slice(0, t), close=fixed_tolerance,
):  # fmt: skip
    """The detector, with its choices left open."""
    for x, other in product(sequences, repeat=2) if pairs is None else pairs:
        output = decoder(x)
        for t in cuts(len(x)):
            if not close(decoder(np.concatenate([x[:t], other[t:]]))[compared(t)], output[compared(t)]):
                return True
    return False


@leaks.mistake("begins with the second cut")
def begins_late(decoder, sequences):
    """Your first cut comes after the second position, so position 1 is never replaced while you watch position 0. You
    miss a decoder whose first output sees the second input. Cut after every position, from 1 on."""
    return searched(decoder, sequences, cuts=lambda T: range(2, T))


@leaks.mistake("ends one cut too early")
def ends_early(decoder, sequences):
    """The last cut is missing, after which only the last input is new. You miss a decoder whose last output but one
    sees this input."""
    return searched(decoder, sequences, cuts=lambda T: range(1, T - 1))


@leaks.mistake("changes the last input only")
def last_input_only(decoder, sequences):
    """Only the last input is ever changed. A decoder that looks at some other part of the future is not found. Cut
    after every position."""
    return searched(decoder, sequences, cuts=lambda T: range(max(1, T - 1), T))


@leaks.mistake("makes a single cut, in the middle")
def one_cut_in_the_middle(decoder, sequences):
    """One cut shows only what crosses it. You miss a leak with both ends in the first half, or both in the second. Cut
    after every position."""
    return searched(decoder, sequences, cuts=lambda T: range(T // 2, T // 2 + 1) if T > 1 else ())


@leaks.mistake("tries the first two sequences only")
def first_pair_only(decoder, sequences):
    """You compare only the first two sequences. A pair can convict a decoder, but not acquit it: a decoder may look at
    large entries only, and both sequences may have none. Try every sequence with every other one."""
    return searched(decoder, sequences, pairs=[sequences[:2]])


@leaks.mistake("takes the past from the first sequence only")
def past_of_the_first(decoder, sequences):
    """The future comes from every sequence, but the past always from the first one. A decoder may look ahead only after
    a certain past, after a large entry, say. Let each sequence give the past."""
    return searched(decoder, sequences, pairs=[(sequences[0], other) for other in sequences])


@leaks.mistake("tries each pair one way round only")
def each_pair_once(decoder, sequences):
    """Each pair is tried once, with the past of the earlier sequence. The other way round is another test: a decoder
    may look ahead only after a certain past, and the later sequence may have it. Let each sequence give the past."""
    return searched(decoder, sequences, pairs=combinations(sequences, 2))


@leaks.mistake("replaces the future by zeros")
def zeros_for_the_future(decoder, sequences):
    """What comes after the cut becomes zero. Some decoders react to zero as to the input that was there, for example
    one that reacts only to large entries or only to opposite signs. Take what comes after the cut from another
    sequence."""
    return searched(decoder, sequences, pairs=[(x, np.zeros_like(x)) for x in sequences])


@leaks.mistake("watches the first output only")
def first_output_only(decoder, sequences):
    """Only the output at position 0 is compared, and a leak at any other position is not found. At the cut t, compare
    all outputs before t. (A loop that returns in its first round, whatever it finds there, has the same effect.)"""
    return searched(decoder, sequences, compared=lambda t: slice(0, 1))


@leaks.mistake("finds a leak in every decoder")
def whole_outputs(decoder, sequences):
    """The answer is True for every decoder that gets more than one position. If you compare whole outputs, they differ,
    because the later outputs *may* change when the later inputs do: compare the outputs before the cut. If you do that,
    check that you compare the decoder's outputs with its outputs."""
    return searched(decoder, sequences, compared=lambda t: slice(None))


@leaks.mistake("compares the first output after the cut, too")
def one_output_too_many(decoder, sequences):
    """At the cut t, input t is new, and output t may depend on it: each position sees itself. You accuse every decoder
    in which it does. Compare outputs 0 to t - 1, that is, [:t]."""
    return searched(decoder, sequences, compared=lambda t: slice(0, t + 1))


@leaks.mistake("compares sums of outputs")
def sums_compared(decoder, sequences):
    """You compare the *sum* of the outputs before the cut. A leak that raises one output and lowers another by as much
    leaves the sum as it was. Compare entry by entry: `np.allclose` takes whole arrays."""
    return searched(decoder, sequences, close=lambda a, b: fixed_tolerance(a.sum(), b.sum()))


@leaks.mistake("never finds a leak")
def changes_nothing(decoder, sequences):
    """The answer is False for every decoder. Give the decoder two sequences that differ after the cut, and compare the
    outputs before it: if these differ, return True. Take what comes after the cut from another sequence."""
    return searched(decoder, sequences, pairs=[(x, x) for x in sequences])


@leaks.mistake("makes the new future from the old one")
def future_moved(decoder, sequences):
    """You compute what comes after the cut from what was there, as x + 1 or -x, say. A decoder may look at the future
    in a way that does not show such a change, for example at the phase of a wave of length 1. Take what comes after the
    cut from another sequence."""
    return searched(decoder, sequences, pairs=[(x, x + 1) for x in sequences])


@leaks.mistake("cuts the sequence off")
def sequence_cut_off(decoder, sequences):
    """The sequence ends at the cut, so not only the future changes, but also the length. A decoder may know how long
    its sequence is: one that divides by the length sees no later input, but you accuse it. Replace the future, and keep
    the length."""
    return any(not fixed_tolerance(decoder(x[:t]), decoder(x)[:t]) for x in sequences for t in range(1, len(x)))


@leaks.mistake("changes the past and watches the future")
def past_and_future_swapped(decoder, sequences):
    """The beginning is changed, and the outputs after it are compared: that shows whether the decoder uses the *past*,
    as it should. Keep the beginning, change the rest, and compare the beginning."""
    for x, other in product(sequences, repeat=2):
        output = decoder(x)
        changed = ((t, decoder(np.concatenate([other[:t], x[t:]]))) for t in range(1, len(x)))
        if any(not fixed_tolerance(after[t:], output[t:]) for t, after in changed):
            return True
    return False


@leaks.mistake("says True when nothing leaks")
def answer_inverted(decoder, sequences):
    """Your answers are the wrong way round: True means that the decoder leaks."""
    return not reference.leaks(decoder, sequences)


@leaks.mistake("returns nothing when nothing leaks")
def nothing_when_tight(decoder, sequences):
    """You find a leaky decoder, but give no answer for any other: a function that ends without a `return` returns None.
    Write `return False` after the loops."""
    return reference.leaks(decoder, sequences) or None


@leaks.mistake("answers in numbers")
def answers_in_numbers(decoder, sequences):
    """The verdicts are right, but you return them as 1 and 0. Return True or False, or `bool(...)` of the number."""
    return int(reference.leaks(decoder, sequences))


@leaks.mistake("accuses rounding")
def bit_by_bit(decoder, sequences):
    """You compare outputs bit for bit. A sum in another order differs in its last digits, and a decoder in which the
    future cancels is accused of seeing it. Compare with a tolerance: `np.allclose`."""
    return searched(decoder, sequences, close=np.array_equal)


@leaks.mistake("overlooks small leaks")
def hard_of_hearing(decoder, sequences):
    """The tolerance is too generous: a leak of one part in ten thousand passes, and a network can learn to amplify it.
    Rounding errors in float64 are a billion times smaller: `rtol=0, atol=1e-6` will do."""
    return searched(decoder, sequences, close=partial(np.allclose, rtol=1e-3, atol=1e-3))


@leaks.mistake("overlooks small leaks in large outputs")
def tolerance_that_grows(decoder, sequences):
    """The tolerance grows with the outputs: by default, `np.allclose` forgives a hundred-thousandth *of each output*,
    so near 100 it forgives a thousandth. A leak does not grow with the outputs that hide it, so use `rtol=0,
    atol=1e-6`."""
    return searched(decoder, sequences, close=np.allclose)


@leaks.mistake("writes into the caller's sequences")
def writes_into_x(decoder, sequences):
    """`x[t:] = other[t:]` changes the caller's sequence, and it does so at the very first cut: from then on there is no
    original to compare with, and honest decoders are accused. Build a new sequence."""
    for x in sequences:
        output = decoder(x)
        for other in sequences:
            for t in range(1, len(x)):
                x[t:] = other[t:]
                if not fixed_tolerance(decoder(x)[:t], output[:t]):
                    return True
    return False


@leaks.equivalent
def only_the_last_output_before_the_cut(decoder, sequences):
    return searched(decoder, sequences, compared=lambda t: slice(t - 1, t))


@leaks.equivalent
def last_cut_first(decoder, sequences):
    return searched(decoder, sequences, cuts=lambda T: range(T - 1, 0, -1))


@leaks.equivalent
def one_input_at_a_time(decoder, sequences):
    found = False
    for i, x in enumerate(sequences):
        output = decoder(x)
        for j, t in np.ndindex(len(sequences), len(x)):
            if i != j and t > 0:
                changed = x.copy()
                changed[t] = sequences[j, t]
                found |= bool(np.abs(decoder(changed)[:t] - output[:t]).max() > 1e-8)
    return found


@leaks.equivalent
def a_ten_thousandth_at_most(decoder, sequences):
    pairs = permutations(sequences, 2)
    return searched(decoder, sequences, pairs=pairs, close=lambda a, b: bool((abs(a - b) < 1e-4).all()))
