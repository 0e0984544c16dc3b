import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import project as reference

batches_by_length = Exercise(
    reference.batches_by_length, outputs={"batches": "", "padding": "n_batches"}, section="Batches of equal length"
)
wrong = short_mistakes(batches_by_length)


def lengths_of(draw, n, low=2, high=12):
    return draw.rng.integers(low, high, size=(n, 2))


def cells(lengths):
    return int(lengths.max(axis=0).sum())


def with_room_left(draw):
    """Return pairs, the last of which would fit into the first batch but comes after a long pair."""
    n = draw.size(2, 5)
    return {"lengths": np.array([[n, 1], [9 * n, 1], [n, 2]]), "budget": 2 * (n + 2)}


@batches_by_length.cases("similar pairs in one batch", points=2)
def _(draw):
    # The budgets are prime, so that no batch of several pairs is exactly full.
    yield "twenty pairs", {"lengths": lengths_of(draw, 20), "budget": 53}
    yield "forty pairs", {"lengths": lengths_of(draw, 40), "budget": 67}
    alike = np.stack([draw.rng.integers(3, 14, size=24), np.full(24, draw.size(4, 7))], axis=1)
    yield "targets of one length", {"lengths": alike, "budget": 71}
    yield "many equal pairs", {"lengths": lengths_of(draw, 30, 3, 5), "budget": 61}
    yield "a long source between short ones", with_room_left(draw)
    n = draw.size(5, 9)
    yield "a long source, and a long target", {"lengths": np.array([[n, 2], [2, n]]), "budget": 4 * n - 1}


@batches_by_length.cases("the edges", points=1)
def _(draw):
    lengths = lengths_of(draw, 9)
    yield "a budget that fits exactly", {"lengths": np.tile(lengths[:1], (12, 1)), "budget": 4 * cells(lengths[:1])}
    long_or_short = np.concatenate([lengths_of(draw, 6, 11, 30), [[3, 2], [2, 2]]])
    yield "pairs that are longer than the budget", {"lengths": long_or_short, "budget": 20}
    yield "one pair", {"lengths": lengths[:1], "budget": 100}
    lengths[:2] = [[9, 5], [3, 5]]  # if targets are equal, the longer source comes first
    yield "everything in one batch", {"lengths": lengths, "budget": 10_000}
    yield "room left in an earlier batch", with_room_left(draw)


def order_of(lengths, keys=(0, 1)):
    return np.lexsort([lengths[:, key] for key in keys]).tolist()


def grouped(
    lengths, budget, order, size=lambda rows: len(rows) * rows.max(axis=0).sum(), close=lambda size, b: size > b
):
    """Group the pairs in an order. Close a batch if its size with the next pair would be too large."""
    batches, batch = [], []
    for pair in order:
        if batch and close(size(lengths[[*batch, pair]]), budget):
            batches.append(batch)
            batch = []
        batch.append(pair)
    return [np.array(batch) for batch in [*batches, batch] if batch]


def padding_of(lengths, batches):
    return np.array([(lengths[batch].max(axis=0) - lengths[batch]).sum() for batch in batches], int)


def with_padding(lengths, batches):
    return batches, padding_of(lengths, batches)


def batched(lengths, budget, *, order=order_of, **rules):
    """Run the reference with another order, or with other rules of `grouped`."""
    return with_padding(lengths, grouped(lengths, budget, order(lengths), **rules))


@batches_by_length.mistake("does not sort")
def unsorted(lengths, budget):
    """You take the pairs in the order in which they come. Then each batch contains short and long pairs, and every
    short one is padded to the longest. Sort by length first."""
    return with_padding(lengths, grouped(lengths, budget, range(len(lengths))))


wrong("by_source", batched, order=lambda lengths: order_of(lengths, (1, 0)))("""
    sorts by the source first
    You sort by the source, and by the target if sources are equal. The exercise sorts by the target first: the target
    passes through more sub-layers than the source, so its padding costs more. In `np.lexsort` the last key comes
    first.""")
wrong("by_target", batched, order=lambda lengths: order_of(lengths, (1,)))("""
    sorts by the target alone
    You sort only by the target, so pairs with equal targets keep their old order, whatever their sources are. Sort
    these pairs by their source.""")
wrong("by_sum", batched, order=lambda lengths: np.argsort(lengths.sum(axis=1), kind="stable").tolist())("""
    sorts by the sum of both lengths
    You sort by source and target together. A long source with a short target is then in the same batch as a short
    source with a long target, and both are padded. Sort by the target, then by the source.""")
wrong("longest_first", batched, order=lambda lengths: order_of(lengths)[::-1])("""
    puts the longest pairs first
    Your pairs come from the longest to the shortest. The exercise asks for the shortest first.""")
wrong("counts_tokens", batched, size=lambda rows: rows.sum())("""
    fills a batch with tokens, not with places
    You compare the budget with the number of tokens. Padding takes memory and time as well: compare it with the number
    of pairs times the longest source plus the longest target.""")
wrong("targets_alone", batched, size=lambda rows: len(rows) * rows[:, 1].max())("""
    counts only the targets
    You compute the size of a batch as if the sources took no space. A place of the source costs memory and time, too:
    add the longest source and the longest target.""")
wrong("last_is_longest", batched, size=lambda rows: len(rows) * rows[-1].sum())("""
    takes the last pair for the longest
    You take the newest pair's lengths for the longest of the batch. That is right for the targets, which are sorted,
    but an earlier pair with a shorter target may have a longer source.""")
wrong("never_full", batched, close=lambda size, bound: size >= bound)("""
    closes a batch that is exactly full too early
    You close a batch as soon as the next pair would *reach* the budget. A batch may be as large as the budget: close it
    only if the next pair would exceed it.""")


@batches_by_length.mistake("adds the pair that exceeds the budget")
def one_too_many(lengths, budget):
    """You close a batch after the pair that exceeds the budget, so most batches are too large. Compute the size with
    the next pair before you add it."""
    batches, batch = [], []
    for pair in order_of(lengths):
        batch.append(pair)
        if len(batch) * cells(lengths[batch]) > budget:
            batches.append(np.array(batch))
            batch = []
    return with_padding(lengths, batches + ([np.array(batch)] if batch else []))


@batches_by_length.mistake("puts a pair into an earlier batch that has room")
def first_fit(lengths, budget):
    """You put each pair into the first batch that has room for it. The exercise takes the pairs in order: once a batch
    is closed, no pair is added to it."""
    batches = []
    for pair in order_of(lengths):
        for batch in batches:
            if (len(batch) + 1) * cells(lengths[[*batch, pair]]) <= budget:
                batch.append(pair)
                break
        else:
            batches.append([pair])
    return with_padding(lengths, [np.array(batch) for batch in batches])


@batches_by_length.mistake("drops the last batch")
def last_dropped(lengths, budget):
    """The pairs of the last batch are missing. It is not full, so nothing closes it inside the loop: add it after the
    loop."""
    batches = grouped(lengths, budget, order_of(lengths))[:-1]
    return with_padding(lengths, batches)


@batches_by_length.mistake("leaves out pairs that are too long")
def long_ones_left_out(lengths, budget):
    """Pairs that are longer than the budget are missing. The model would never learn a long word. Put each of them into
    a batch of its own."""
    fitting = [pair for pair in order_of(lengths) if lengths[pair].sum() <= budget]
    return with_padding(lengths, grouped(lengths, budget, fitting))


@batches_by_length.mistake("counts the padding of the targets alone")
def target_padding(lengths, budget):
    """The batches are right, but you count only the padding of the targets. The shorter sources are padded as well."""
    batches, _ = reference.batches_by_length(lengths, budget)
    return batches, padding_of(lengths[:, 1:], batches)


@batches_by_length.mistake("counts the tokens as padding")
def tokens_counted(lengths, budget):
    """The batches are right, but your second result is the number of tokens. The padding is the rest: all places of the
    batch minus its tokens."""
    batches, _ = reference.batches_by_length(lengths, budget)
    return batches, np.array([lengths[batch].sum() for batch in batches], int)


@batches_by_length.mistake("adds the padding of all batches")
def total_padding(lengths, budget):
    """The batches are right, but you return one number for all of them. The exercise asks for the padding of each
    batch."""
    batches, padding = reference.batches_by_length(lengths, budget)
    return batches, padding.sum()


wrong("longest_pair", batched, size=lambda rows: len(rows) * rows.sum(axis=1).max())("""
    takes the longest pair for the longest of each side
    You compute a batch's size from the pair that is longest in total. The longest source and the longest target may
    belong to different pairs: take the maximum of each side, then add.""")


@batches_by_length.equivalent
def pair_by_pair(lengths, budget):
    order = sorted(range(len(lengths)), key=lambda pair: (lengths[pair, 1], lengths[pair, 0]))
    return with_padding(lengths, grouped(lengths, budget, order))


@batches_by_length.equivalent
def in_two_sorts(lengths, budget):
    """Sort by the source, then stably by the target, and count the padding place by place."""
    order = np.argsort(lengths[:, 0], kind="stable")
    order = order[np.argsort(lengths[order, 1], kind="stable")]
    batches = grouped(lengths, budget, order.tolist())
    padding = []
    for batch in batches:
        source, target = lengths[batch].T.tolist()
        padding.append(sum(max(source) - n for n in source) + sum(max(target) - n for n in target))
    return batches, np.array(padding)


@batches_by_length.equivalent
def by_slices(lengths, budget):
    """Cut slices from the sorted pairs, whose ends running maxima determine."""
    order, batches, start = np.array(order_of(lengths)), [], 0
    while start < len(order):
        longest = np.maximum.accumulate(lengths[order[start:]], axis=0).sum(axis=1)
        fits = longest * np.arange(1, len(longest) + 1) <= budget
        n_pairs = max(1, len(fits) if fits.all() else int(fits.argmin()))
        batches.append(order[start : start + n_pairs])
        start += n_pairs
    return with_padding(lengths, batches)
