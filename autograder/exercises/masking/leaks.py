from functools import partial
from itertools import combinations, permutations, product

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from check import input_functions
from solutions import masking as reference


def spliced(decoder, sequences):
    """Yield each sequence, then the sequence up to a cut followed by another sequence, for each other sequence and each
    cut."""
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
wrong = short_mistakes(leaks)


def trial(draw, decoder, n=3):
    """Return a decoder, and sequences of vectors on which to try it, which differ in all entries."""
    T, d = draw.size(4, 7), draw.size(2, 5)
    return {"decoder": decoder, "sequences": draw.normal(n, T, d)}


def tried(draw, *decoders):
    for decoder in decoders:
        yield decoder.__name__.replace("_", " "), trial(draw, decoder)


def one_above_three(draw, decoder, which):
    """Return a decoder and sequences, only one of which has entries above 3."""
    inputs = trial(draw, decoder)
    inputs["sequences"] = np.tanh(inputs["sequences"])
    inputs["sequences"][which] += 5
    return inputs


def mixtures(draw, everywhere=True):
    """Draw decoders that no table of known decoders contains. Two or three of the four leak.

    everywhere: whether each output of a leaky decoder depends on every later input, so that a search finds the leak
    wherever it looks. Otherwise one output depends on one later input, both drawn.
    """
    names = ("a mixture", "another mixture", "a third mixture", "a fourth mixture")
    leaky = draw.rng.permutation([True, True, False, draw.rng.random() < 0.5])
    for name, leaks_ahead in zip(names, leaky, strict=True):
        inputs = trial(draw, None)
        T = inputs["sequences"].shape[1]
        weights = np.tril(draw.normal(T, T))
        if leaks_ahead and everywhere:
            weights += np.triu(draw.rng.choice([-0.5, 0.5], size=(T, T)), 1)
        elif leaks_ahead:
            hears, heard = sorted(draw.rng.choice(T, size=2, replace=False))
            weights[hears, heard] = draw.rng.choice([-1.0, 1.0])
        yield name, inputs | {"decoder": input_functions.Mixture(weights)}


# A detector that always gives the same answer fails every aspect, because each aspect has leaky and tight decoders.
@leaks.cases("wide open, or shut", points=1)
def _(draw):
    yield from tried(draw, input_functions.looks_around, input_functions.looks_back, input_functions.running_sum)
    yield from tried(
        draw, input_functions.each_position_alone, input_functions.sum_of_the_past, input_functions.centred_over_time
    )
    yield from mixtures(draw)


@leaks.cases("one step, one place", points=2)
def _(draw):
    yield from tried(
        draw, input_functions.looks_one_ahead, input_functions.first_hears_second, input_functions.first_hears_third
    )
    yield from tried(draw, input_functions.last_but_one_hears_last, input_functions.looks_back)
    yield from mixtures(draw, everywhere=False)
    yield from tried(draw, input_functions.first_hears_the_phase_of_the_last, input_functions.running_share)
    yield from tried(draw, input_functions.hears_with_both_signs)
    yield "hears above three", one_above_three(draw, input_functions.hears_above_three, 2)
    for name, which in (("first", 0), ("second", 1), ("last", 2)):
        yield (
            f"above three hears, in the {name} sequence",
            one_above_three(draw, input_functions.above_three_hears, which),
        )
    inputs = trial(draw, input_functions.hears_opposites)
    signs = np.array([1, -1, 1])[:, None, None]
    yield "hears opposites", inputs | {"sequences": signs * np.abs(inputs["sequences"])}


@leaks.cases("small leaks, and rounding", points=1)
def _(draw):
    yield from tried(
        draw, input_functions.divides_by_all, input_functions.whispers, input_functions.all_minus_the_future
    )
    yield from mixtures(draw)
    yield from tried(draw, input_functions.breathes, input_functions.breathes_near_a_hundred)


@leaks.cases("tokens and edge cases", points=1)
def _(draw):
    T = draw.size(5, 9)
    steps = np.stack([[0, *draw.rng.permutation(np.arange(1, 10))[:2]] for _ in range(T)], axis=1)
    tokens = (draw.tokens(T, low=0) + steps) % 10
    for decoder in (input_functions.running_sum, input_functions.centred_over_time):
        name = decoder.__name__.replace("_", " ")
        yield f"tokens, {name}", {"decoder": decoder, "sequences": tokens}
    inputs = trial(draw, input_functions.centred_over_time)
    yield "two positions", inputs | {"sequences": inputs["sequences"][:, :2]}
    yield "a single position", inputs | {"sequences": inputs["sequences"][:, :1]}
    yield from mixtures(draw)


fixed_tolerance = partial(np.allclose, rtol=0, atol=1e-6)


def searched(
    decoder, sequences, *,
    pairs=None, cuts=lambda T: range(1, T), compared=lambda t: slice(0, t), close=fixed_tolerance,
):  # fmt: skip
    """Run the detector with these choices."""
    for x, other in product(sequences, repeat=2) if pairs is None else pairs:
        output = decoder(x)
        for t in cuts(len(x)):
            if not close(decoder(np.concatenate([x[:t], other[t:]]))[compared(t)], output[compared(t)]):
                return True
    return False


wrong("begins_late", searched, cuts=lambda T: range(2, T))("""
    begins with the second cut
    Your first cut comes after the second position, so you never replace position 1 while you watch position 0. You miss
    a decoder whose first output sees the second input. Cut after every position, from 1 on.""")
wrong("ends_early", searched, cuts=lambda T: range(1, T - 1))("""
    ends one cut too early
    The last cut is missing, after which only the last input is new. You miss a decoder whose next-to-last output sees
    this input.""")
wrong("last_input_only", searched, cuts=lambda T: range(max(1, T - 1), T))("""
    changes the last input only
    You change only the last input, so you miss a decoder that looks at another part of the future. Cut after every
    position.""")
wrong("one_cut_in_the_middle", searched, cuts=lambda T: range(T // 2, T // 2 + 1) if T > 1 else ())("""
    makes a single cut, in the middle
    A cut shows only the leaks that cross it. You miss a leak within the first half, or within the second half. Cut
    after every position.""")
wrong("first_pair_only", lambda decoder, sequences: searched(decoder, sequences, pairs=[sequences[:2]]))("""
    tries the first two sequences only
    You compare only the first two sequences. A pair can prove that a decoder leaks, but not that it does not: a
    decoder may look only at large entries, and these two sequences may have none. Try every sequence with every
    other sequence.""")


@leaks.mistake("takes the past from the first sequence only")
def past_of_the_first(decoder, sequences):
    """You take the future from every sequence, but the past always from the first. A decoder may look ahead only after
    a certain past, for example after a large entry. Take the past from each sequence."""
    return searched(decoder, sequences, pairs=[(sequences[0], other) for other in sequences])


wrong("each_pair_once", lambda decoder, sequences: searched(decoder, sequences, pairs=combinations(sequences, 2)))("""
    tries each pair one way round only
    You try each pair once, with the past of the earlier sequence. Also try it with the past of the later sequence: a
    decoder may look ahead only after a certain past, which only the later sequence may have.""")


@leaks.mistake("replaces the future by zeros")
def zeros_for_the_future(decoder, sequences):
    """You replace what comes after the cut by zeros. Some decoders react to zero as they do to the old input, for
    example decoders that react only to large entries or only to opposite signs. Take what comes after the cut from
    another sequence."""
    return searched(decoder, sequences, pairs=[(x, np.zeros_like(x)) for x in sequences])


wrong("first_output_only", searched, compared=lambda t: slice(0, 1))("""
    watches the first output only
    You compare only the output at position 0, so you miss a leak at any other position. At the cut t, compare all
    outputs before t. (A loop that always returns in its first round has the same effect.)""")
wrong("whole_outputs", searched, compared=lambda t: slice(None))("""
    finds a leak in every decoder
    Your answer is True for every decoder that gets more than one position. If you compare whole outputs, they differ,
    because the later outputs *may* change when the later inputs do: compare only the outputs before the cut. If you
    already do, check that you compare the decoder's outputs with its outputs.""")
wrong("one_output_too_many", searched, compared=lambda t: slice(0, t + 1))("""
    compares the first output after the cut, too
    At the cut t, input t is new, and output t may depend on it, because each position sees itself. You report a leak in
    every decoder in which it does. Compare outputs 0 to t - 1, that is, [:t].""")
wrong("sums_compared", searched, close=lambda a, b: fixed_tolerance(a.sum(), b.sum()))("""
    compares sums of outputs
    You compare the *sum* of the outputs before the cut. If a leak raises one output and lowers another by the same
    amount, the sum does not change. Compare entry by entry: `np.allclose` takes whole arrays.""")
wrong("changes_nothing", lambda decoder, sequences: searched(decoder, sequences, pairs=[(x, x) for x in sequences]))("""
    never finds a leak
    Your answer is False for every decoder. Give the decoder two sequences that differ after the cut, and compare the
    outputs before it: if these differ, return True. Take what comes after the cut from another sequence.""")


@leaks.mistake("makes the new future from the old one")
def future_moved(decoder, sequences):
    """You compute what comes after the cut from the old input, for example as x + 1 or -x. A decoder may look at the
    future in a way that does not show such a change, for example at the phase of a wave of length 1. Take what comes
    after the cut from another sequence."""
    return searched(decoder, sequences, pairs=[(x, x + 1) for x in sequences])


@leaks.mistake("cuts the sequence off")
def sequence_cut_off(decoder, sequences):
    """Your sequence ends at the cut, so you change not only the future but also the length. A decoder that divides by
    the length sees no later input, but you report a leak in it. Replace the future, and keep the length."""
    return any(not fixed_tolerance(decoder(x[:t]), decoder(x)[:t]) for x in sequences for t in range(1, len(x)))


@leaks.mistake("changes the past and watches the future")
def past_and_future_swapped(decoder, sequences):
    """You change the beginning and compare the outputs after it. That shows whether the decoder uses the *past*, as it
    should. Keep the beginning, change the rest, and compare the beginning."""
    for x, other in product(sequences, repeat=2):
        output = decoder(x)
        changed = ((t, decoder(np.concatenate([other[:t], x[t:]]))) for t in range(1, len(x)))
        if any(not fixed_tolerance(after[t:], output[t:]) for t, after in changed):
            return True
    return False


wrong("answer_inverted", lambda decoder, sequences: not reference.leaks(decoder, sequences))("""
    says True when nothing leaks
    You swap the answers: True means that the decoder leaks.""")
wrong("nothing_when_tight", lambda decoder, sequences: reference.leaks(decoder, sequences) or None)("""
    returns nothing when nothing leaks
    You find a leaky decoder, but give no answer for other decoders: a function that ends without a `return` returns
    None. Write `return False` after the loops.""")
wrong("answers_in_numbers", lambda decoder, sequences: int(reference.leaks(decoder, sequences)))("""
    answers in numbers
    Your answers are right, but you return them as 1 and 0. Return True or False, or `bool(...)` of the number.""")
wrong("bit_by_bit", searched, close=np.array_equal)("""
    accuses rounding
    You compare outputs bit for bit. A sum in a different order differs in its last digits, so you report a leak in a
    decoder in which the future cancels. Compare with a tolerance: `np.allclose`.""")
wrong("hard_of_hearing", searched, close=partial(np.allclose, rtol=1e-3, atol=1e-3))("""
    overlooks small leaks
    Your tolerance is too large: you overlook a leak of one part in ten thousand, which a network can learn to amplify.
    Rounding errors in float64 are a billion times smaller, so use `rtol=0, atol=1e-6`.""")
wrong("tolerance_that_grows", searched, close=np.allclose)("""
    overlooks small leaks in large outputs
    Your tolerance grows with the outputs: by default, `np.allclose` allows an error of a hundred-thousandth *of each
    output*, so near 100 it allows a thousandth. A leak does not grow with the outputs, so use `rtol=0, atol=1e-6`.""")


@leaks.mistake("writes into the caller's sequences")
def writes_into_x(decoder, sequences):
    """`x[t:] = other[t:]` changes the caller's sequence, already at the first cut. From then on you have no original to
    compare with, and report leaks in decoders that have none. Build a new sequence."""
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
