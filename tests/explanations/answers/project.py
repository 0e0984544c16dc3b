"""Wrong answers to chapter 10, letters and sounds."""

import numpy as np

from solutions.attention import softmax
from solutions.project import batches_by_length
from tests.explanations.registry import wrong


def batched(lengths, budget, cost):
    order = np.lexsort((lengths[:, 0], lengths[:, 1])).tolist()
    batches, batch = [], []
    for pair in order:
        if batch and cost(lengths[[*batch, pair]]) > budget:
            batches.append(np.array(batch))
            batch = []
        batch.append(pair)
    batches += [np.array(batch)] if batch else []
    places = [len(b) * lengths[b].max(axis=0).sum() - lengths[b].sum() for b in batches]
    return batches, np.array(places, int)


@wrong("batches_by_length", "https://github.com/meta-pytorch/data/issues/788", names="counts_tokens")
def padding_not_in_the_budget(lengths, budget):
    """Counts tokens, not places."""
    return batched(lengths, budget, lambda some: some.sum())


@wrong("batches_by_length", "https://github.com/facebookresearch/metaseq/pull/226", names="longest_pair")
def longest_pair(lengths, budget):
    """Takes the longest pair, where longest source and longest target can be of two pairs."""
    return batched(lengths, budget, lambda some: len(some) * some.sum(axis=1).max())


@wrong("batches_by_length", "https://github.com/tensorflow/models/pull/5699", names="never_full")
def budget_never_reached(lengths, budget):
    """A full batch has less than the budget."""
    return batches_by_length(lengths, budget - 1)


def levenshtein(guess, truth, swaps=False):
    n, m = len(guess), len(truth)
    table = np.add.outer(np.arange(n + 1), np.arange(m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            replaced = table[i - 1, j - 1] + (guess[i - 1] != truth[j - 1])
            table[i, j] = min(replaced, table[i, j - 1] + 1, table[i - 1, j] + 1)
            if swaps and i > 1 and j > 1 and guess[i - 1] == truth[j - 2] and guess[i - 2] == truth[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table


def walked(table, choose):
    path, i, j = [], table.shape[0] - 1, table.shape[1] - 1
    while i or j:
        step = choose(i, j)
        i, j = i - step[0], j - step[1]
        path.append((i if step[0] else -1, j if step[1] else -1))
    return int(table[-1, -1]), np.array(path[::-1], int).reshape(-1, 2)


@wrong("edit_path", "https://github.com/NaturalNode/natural/pull/33", names="gaps_exchanged")
def insertion_and_deletion_exchanged(guess, truth):
    """Exchanges insertions and deletions."""
    table = levenshtein(guess, truth)

    def choose(i, j):
        if i and j and table[i, j] == table[i - 1, j - 1] + (guess[i - 1] != truth[j - 1]):
            return 1, 1
        return (0, 1) if j and table[i, j] == table[i, j - 1] + 1 else (1, 0)

    distance, path = walked(table, choose)
    single = (path < 0).any(axis=1)
    path[single] = path[single][:, ::-1]
    return distance, path


@wrong("edit_path", "https://github.com/nltk/nltk/issues/2954")
def smallest_neighbour(guess, truth):
    """Goes back to the smallest neighbour, without looking at the cost of the step."""
    table = levenshtein(guess, truth)

    def choose(i, j):
        steps = [step for step in ((1, 1), (0, 1), (1, 0)) if i >= step[0] and j >= step[1]]
        return min(steps, key=lambda step: table[i - step[0], j - step[1]])

    return walked(table, choose)


@wrong("edit_path", "https://github.com/apache/commons-text/pull/767", names="gaps_first")
def single_steps_first(guess, truth):
    """Leaves out and puts in whenever the neighbour is one less, before it replaces."""
    table = levenshtein(guess, truth)

    def choose(i, j):
        if j and table[i, j] == table[i, j - 1] + 1:
            return 0, 1
        return (1, 0) if i and table[i, j] == table[i - 1, j] + 1 else (1, 1)

    return walked(table, choose)


@wrong("edit_path", "https://github.com/Zen-Transform/Multilingual-IME/issues/4", names="swaps_once")
def swaps_count_once(guess, truth):
    """Counts two neighbours that have changed places as one edit."""
    distance = int(levenshtein(guess, truth, swaps=True)[-1, -1])
    table = levenshtein(guess, truth)

    def choose(i, j):
        if i and j and table[i, j] == table[i - 1, j - 1] + (guess[i - 1] != truth[j - 1]):
            return 1, 1
        return (0, 1) if j and table[i, j] == table[i, j - 1] + 1 else (1, 0)

    return distance, walked(table, choose)[1]


def nucleus(logits, p, temperature, keep):
    if not (0 < p <= 1 and temperature > 0):
        raise ValueError("p or temperature is out of its range")
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    sorted_ones = np.take_along_axis(probabilities, order, axis=-1)
    kept = np.where(keep(sorted_ones, np.cumsum(sorted_ones, axis=-1)), sorted_ones, 0)
    result = np.zeros_like(kept)
    np.put_along_axis(result, order, kept / kept.sum(axis=-1, keepdims=True), axis=-1)
    return result


@wrong("top_p", "https://github.com/Biohub/esm/pull/360", names="crossing_left_out")
def crossing_token_left_out(logits, p, temperature=1.0):
    """Leaves out the token with which the sum passes p, but keeps the first."""
    return nucleus(logits, p, temperature, lambda row, sums: (sums <= p) | (np.arange(row.shape[-1]) == 0))


@wrong("top_p", "https://github.com/fishaudio/fish-speech/pull/1171", names="crossing_left_out")
def even_the_first_left_out(logits, p, temperature=1.0):
    """Leaves out each token with which the sum is above p, even the first."""
    return nucleus(logits, p, temperature, lambda row, sums: sums <= p)


@wrong("top_p", "https://github.com/AI-Hypercomputer/maxtext/issues/950", names="all_ties")
def ties_kept(logits, p, temperature=1.0):
    """Keeps all tokens as likely as the last one."""

    def keep(row, sums):
        last = np.minimum((sums < p).sum(axis=-1, keepdims=True), row.shape[-1] - 1)
        return row >= np.take_along_axis(row, last, axis=-1)

    return nucleus(logits, p, temperature, keep)


@wrong("top_p", "https://github.com/BlinkDL/ChatRWKV/pull/170")
def one_more_where_the_sum_is_p(logits, p, temperature=1.0):
    """Takes one more if the sum is exactly p, and only the first if p is 1."""

    def keep(row, sums):
        last = np.argmax(sums > p, axis=-1)[..., None]
        return np.arange(row.shape[-1]) <= last

    return nucleus(logits, p, temperature, keep)


@wrong("top_p", "https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/203", names="tail")
def condition_turned_round(logits, p, temperature=1.0):
    """Reverses the condition, and keeps the tokens from the sum p on."""
    return nucleus(logits, p, temperature, lambda row, sums: sums >= p)
