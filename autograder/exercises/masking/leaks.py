"""leaks: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from check import given_functions
from solutions import masking as reference

leaks = Exercise(
    reference.leaks,
    outputs={"leaks": ""},
    section="A leak detector",
)


def sequences(draw, decoder):
    """Two sequences of vectors, different everywhere, and the decoder to be tried on them."""
    T, d = draw.size(5, 9), draw.size(2, 5)
    return {"decoder": decoder, "x": draw.normal(T, d), "other": draw.normal(T, d)}


def tried(draw, *decoders):
    for decoder in decoders:
        yield decoder.__name__.replace("_", " "), sequences(draw, decoder)


def mixtures(draw):
    """Decoders drawn anew, that no table of known ones has. Two or three of the four leak, anywhere."""
    names = ("a mixture", "another mixture", "a third mixture", "a fourth mixture")
    leaky = draw.rng.permutation([True, True, False, draw.rng.random() < 0.5])
    for name, leaks_somewhere in zip(names, leaky, strict=True):
        inputs = sequences(draw, None)
        T = len(inputs["x"])
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


@leaks.cases("small leaks, and rounding", points=1)
def _(draw):
    yield from tried(
        draw, given_functions.divides_by_all, given_functions.whispers, given_functions.all_minus_the_future
    )
    yield from mixtures(draw)
    yield from tried(draw, given_functions.breathes)


@leaks.cases("tokens and edge cases", points=1)
def _(draw):
    T = draw.size(5, 9)
    tokens = draw.tokens(T, low=0)
    other = (tokens + draw.rng.integers(1, 10, size=T)) % 10
    for decoder in (given_functions.running_sum, given_functions.centred_over_time):
        name = decoder.__name__.replace("_", " ")
        yield f"tokens, {name}", {"decoder": decoder, "x": tokens, "other": other}
    inputs = sequences(draw, given_functions.centred_over_time)
    yield "two positions", inputs | {"x": inputs["x"][:2], "other": inputs["other"][:2]}
    yield "a single position", inputs | {"x": inputs["x"][:1], "other": inputs["other"][:1]}
    yield from mixtures(draw)


def searched(decoder, x, other, cuts=None, compared=lambda t: slice(0, t), close=np.allclose):
    """The detector, with its choices left open."""
    output = decoder(x)
    for t in range(1, len(x)) if cuts is None else cuts:
        if not close(decoder(np.concatenate([x[:t], other[t:]]))[compared(t)], output[compared(t)]):
            return True
    return False


@leaks.mistake("begins with the second cut")
def begins_late(decoder, x, other):
    """The first cut stands after the second position, so position 1 is never replaced while position 0 is watched: a
    decoder whose first output sees the second input gets away. Cut after every position, from 1 on."""
    return searched(decoder, x, other, cuts=range(2, len(x)))


@leaks.mistake("ends one cut too early")
def ends_early(decoder, x, other):
    """The last cut is missing, the one after which only the last input is new: a decoder that peeks at it from the
    last position but one gets away."""
    return searched(decoder, x, other, cuts=range(1, len(x) - 1))


@leaks.mistake("changes the last input only")
def last_input_only(decoder, x, other):
    """Only the last input is ever changed. Whoever looks at some other part of the future is not found. Cut after
    every position."""
    return searched(decoder, x, other, cuts=range(max(1, len(x) - 1), len(x)))


@leaks.mistake("makes a single cut, in the middle")
def one_cut_in_the_middle(decoder, x, other):
    """One cut shows only what crosses it: a leak with both ends in the first half, or both in the second, is not
    found. Cut after every position."""
    return searched(decoder, x, other, cuts=range(len(x) // 2, len(x) // 2 + 1) if len(x) > 1 else ())


@leaks.mistake("watches the first output only")
def first_output_only(decoder, x, other):
    """Only the output at position 0 is compared, and a leak at any other position is not found. At the cut t, compare
    all outputs before t. (It comes to the same if the loop returns in its first round, whatever it finds there.)"""
    return searched(decoder, x, other, compared=lambda t: slice(0, 1))


@leaks.mistake("compares whole outputs")
def whole_outputs(decoder, x, other):
    """The whole outputs are compared. Of course they differ: the later outputs *may* change when the later inputs do.
    Compare the outputs before the cut, and no others."""
    return searched(decoder, x, other, compared=lambda t: slice(None))


@leaks.mistake("compares the first output after the cut, too")
def one_output_too_many(decoder, x, other):
    """At the cut t, input t is new, and output t may depend on it: each position sees itself. You accuse every
    decoder that does. Compare outputs 0 to t - 1, that is, [:t]."""
    return searched(decoder, x, other, compared=lambda t: slice(0, t + 1))


@leaks.mistake("changes nothing")
def changes_nothing(decoder, x, other):
    """The two sequences that are compared are the same, so their outputs are: no leak can ever show. Take what comes
    after the cut from `other`."""
    return searched(decoder, x, x)


@leaks.mistake("adds a constant to the future")
def future_moved(decoder, x, other):
    """What comes after the cut is moved by 1, and not replaced. A decoder may look at the future in a way that such a
    move does not change: at the phase of a wave of length 1, say. Take what comes after the cut from `other`."""
    return searched(decoder, x, x + 1)


@leaks.mistake("cuts the sequence off")
def sequence_cut_off(decoder, x, other):
    """The sequence ends at the cut, so that not only the future is another one, but the length too. A decoder may know
    how long its sequence is: one that divides by it sees no later input, and you accuse it. Replace the future, keep
    the length."""
    output = decoder(x)
    return any(not np.allclose(decoder(x[:t]), output[:t]) for t in range(1, len(x)))


@leaks.mistake("changes the past and watches the future")
def past_and_future_swapped(decoder, x, other):
    """The beginning is changed, and the outputs after it are compared: that tells whether the decoder has a *memory*,
    which is what it is for. Keep the beginning, change the rest, and compare the beginning."""
    output = decoder(x)
    changed = (decoder(np.concatenate([other[:t], x[t:]]))[t:] for t in range(1, len(x)))
    return any(not np.allclose(after, output[len(x) - len(after) :]) for after in changed)


@leaks.mistake("says True when all is well")
def answer_inverted(decoder, x, other):
    """The answers are the wrong way round: True is to mean that the decoder leaks."""
    return not reference.leaks(decoder, x, other)


@leaks.mistake("says nothing when all is well")
def nothing_when_tight(decoder, x, other):
    """A leaky decoder is found, and for any other there is no answer: a function that ends without a `return` returns
    None. Say so when the loop is over: `return False`."""
    return reference.leaks(decoder, x, other) or None


@leaks.mistake("answers in numbers")
def answers_in_numbers(decoder, x, other):
    """The verdicts are right, as 1 and 0. The answer to a yes-or-no question is True or False, a bool: return those, or
    `bool(...)` of the number."""
    return int(reference.leaks(decoder, x, other))


@leaks.mistake("accuses rounding")
def bit_by_bit(decoder, x, other):
    """Outputs are compared bit by bit. A sum in another order differs in its last digits, and a decoder in which the
    future cancels is accused of seeing it. Compare with a tolerance: `np.allclose`."""
    return searched(decoder, x, other, close=np.array_equal)


@leaks.mistake("overlooks small leaks")
def hard_of_hearing(decoder, x, other):
    """The tolerance is too generous: a leak of one part in ten thousand passes, and a network can learn to amplify it.
    What rounding does in float64 is a thousand million times smaller; the defaults of `np.allclose` will do."""
    return searched(decoder, x, other, close=lambda a, b: np.allclose(a, b, rtol=1e-3, atol=1e-3))


@leaks.mistake("writes into the caller's sequence")
def writes_into_x(decoder, x, other):
    """`x[t:] = other[t:]` changes the caller's x, and it does so at the very first cut: from then on there is no
    original to compare with, and honest decoders are accused. Build a new sequence."""
    output = decoder(x)
    for t in range(1, len(x)):
        x[t:] = other[t:]
        if not np.allclose(decoder(x)[:t], output[:t]):
            return True
    return False


@leaks.equivalent
def only_the_last_output_before_the_cut(decoder, x, other):
    return searched(decoder, x, other, compared=lambda t: slice(t - 1, t))


@leaks.equivalent
def last_cut_first(decoder, x, other):
    return searched(decoder, x, other, cuts=range(len(x) - 1, 0, -1))


@leaks.equivalent
def one_input_at_a_time(decoder, x, other):
    output = decoder(x)
    found = False
    for t in range(1, len(x)):
        changed = x.copy()
        changed[t] = other[t]
        found |= bool(np.abs(decoder(changed)[:t] - output[:t]).max() > 1e-8)
    return found
