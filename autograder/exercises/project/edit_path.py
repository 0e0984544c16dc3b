"""edit_path: its cases, its known mistakes and its right rewrites."""

from functools import cache

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import project as reference

edit_path = Exercise(
    reference.edit_path, outputs={"distance": "", "path": "n_moves 2"}, section="How many sounds are wrong"
)


def changed(draw, truth, replaced=0, left_out=0, put_in=0, vocab=10):
    """A guess that differs from the truth by some edits at drawn places."""
    guess = truth.tolist()
    for place in draw.rng.permutation(len(guess))[:replaced]:
        guess[place] = 1 + guess[place] % (vocab - 1)
    for _ in range(left_out):
        del guess[draw.rng.integers(len(guess))]
    for _ in range(put_in):
        guess.insert(draw.rng.integers(len(guess) + 1), int(draw.rng.integers(1, vocab)))
    return {"guess": np.array(guess, int), "truth": truth}


@edit_path.cases("the distance", points=2)
def _(draw):
    short, long = draw.sizes(2, low=5, high=10)
    yield "tokens replaced", changed(draw, draw.tokens(short), replaced=2)
    yield "tokens left out", changed(draw, draw.tokens(long), left_out=2)
    yield "tokens put in", changed(draw, draw.tokens(short), put_in=2)
    yield "an exact guess", changed(draw, draw.tokens(long))
    truth = np.arange(1, long + 1)
    yield "everything moved by one place", {"guess": np.concatenate([truth[1:], [20]]), "truth": truth}
    swapped = truth.copy()
    swapped[1:3] = truth[2:0:-1]
    yield "two neighbours exchanged", {"guess": swapped, "truth": truth}


@edit_path.cases("which of several shortest paths", points=1)
def _(draw):
    a, b = draw.rng.permutation(np.arange(1, 9))[:2]
    n = draw.size(2, 4)
    yield "one of several equal tokens left out", {"guess": np.repeat(a, n), "truth": np.repeat(a, n + 1)}
    yield (
        "one more of several equal tokens",
        {"guess": np.array([b, *[a] * (n + 1), b]), "truth": np.array([b, *[a] * n, b])},
    )
    ends = np.resize([a, b], draw.size(6, 9))
    yield "two tokens in turn", {"guess": ends[:-1], "truth": ends[1:]}
    yield "few letters", {"guess": draw.tokens(9, vocab=4), "truth": draw.tokens(8, vocab=4)}
    yield "others of few letters", {"guess": draw.tokens(7, vocab=3), "truth": draw.tokens(9, vocab=3)}


@edit_path.cases("nothing guessed, or nothing to guess", points=1)
def _(draw):
    yield "an empty guess", {"guess": np.zeros(0, int), "truth": draw.tokens(draw.size(3, 6))}
    yield "an empty truth", {"guess": draw.tokens(draw.size(3, 6)), "truth": np.zeros(0, int)}
    yield "an empty guess of an empty truth", {"guess": np.zeros(0, int), "truth": np.zeros(0, int)}
    yield "something", changed(draw, draw.tokens(6), replaced=1, put_in=1)


def table_of(guess, truth, replace=1, left=1, put=1, free_start=False, swaps=False):
    """The least costs of all beginnings of both."""
    table = np.zeros((len(guess) + 1, len(truth) + 1), int)
    for i in range(len(guess) + 1):
        for j in range(len(truth) + 1):
            costs = [] if i or j else [0]
            if i and j:
                costs.append(table[i - 1, j - 1] + replace * (guess[i - 1] != truth[j - 1]))
            if j:
                costs.append(0 if free_start and not i else table[i, j - 1] + left)
            if i:
                costs.append(0 if free_start and not j else table[i - 1, j] + put)
            if swaps and i > 1 and j > 1 and guess[i - 1] == truth[j - 2] and guess[i - 2] == truth[j - 1]:
                costs.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(costs)
    return table


def walk(table, guess, truth, prefer="plt", replace=1, left=1, put=1):
    """Back from the end of both. prefer: the order of the moves that are tried: p, pair; l, leave out; t, put in."""
    path, i, j = [], len(guess), len(truth)
    while i or j:
        possible = {}
        if i and j and table[i, j] == table[i - 1, j - 1] + replace * (guess[i - 1] != truth[j - 1]):
            possible["p"] = (i - 1, j - 1), (i - 1, j - 1)
        if j and table[i, j] == table[i, j - 1] + left:
            possible["l"] = (i, j - 1), (-1, j - 1)
        if i and table[i, j] == table[i - 1, j] + put:
            possible["t"] = (i - 1, j), (i - 1, -1)
        move = next(move for move in prefer if move in possible)
        (i, j), row = possible[move]
        path.append(row)
    return np.array(path[::-1], int).reshape(-1, 2)


def by_table(guess, truth, prefer="plt", **costs):
    table = table_of(guess, truth, **costs)
    return int(table[-1, -1]), walk(table, guess, truth, prefer, **costs)


@edit_path.mistake("compares place by place")
def place_by_place(guess, truth):
    """You compare token i with token i. If one token is missing, everything after it counts as wrong. Tokens may shift:
    let each token be paired, left out or put in, and take the cheapest path."""
    n, m = len(guess), len(truth)
    shared = min(n, m)
    path = [(i, i) for i in range(shared)] + [(-1, j) for j in range(shared, m)] + [(i, -1) for i in range(shared, n)]
    return int((guess[:shared] != truth[:shared]).sum()) + abs(n - m), np.array(path, int).reshape(-1, 2)


@edit_path.mistake("counts a replaced token twice")
def replaced_twice(guess, truth):
    """You count 2 for a replaced token, as one left out and one put in. In this distance it is one edit and costs 1."""
    return by_table(guess, truth, replace=2)


@edit_path.mistake("starts with zeros in the first row and column")
def free_start(guess, truth):
    """Your table begins with zeros in its first row and column, so tokens at the beginning can be left out or put in at
    no cost. The first row counts 0, 1, 2, ..., because it takes j edits to get from nothing to j tokens."""
    table = table_of(guess, truth, free_start=True)
    return int(table[-1, -1]), reference.edit_path(guess, truth)[1]


@edit_path.mistake("does not let tokens be put in")
def no_insertions(guess, truth):
    """Inside the table you take the smaller of two costs, paired or left out. A wrong token that the guess puts in, in
    the middle of a word, then costs more than one edit. Take the smallest of three costs."""
    table = np.add.outer(np.arange(len(guess) + 1), np.arange(len(truth) + 1))
    for i, token in enumerate(guess):
        for j, right in enumerate(truth):
            table[i + 1, j + 1] = min(table[i, j] + (token != right), table[i + 1, j] + 1)
    return int(table[-1, -1]), walk(table, guess, truth)


@edit_path.mistake("counts exchanged neighbours once")
def swaps_once(guess, truth):
    """You count 1 for two neighbours that are swapped. That is another distance, Damerau's. Here a swap is two
    edits."""
    return int(table_of(guess, truth, swaps=True)[-1, -1]), reference.edit_path(guess, truth)[1]


@edit_path.mistake("divides by the length")
def divided(guess, truth):
    """You return the error rate of one word. The exercise asks for the number of edits: to average words of different
    lengths, add up edits and lengths first, and divide once."""
    distance, path = reference.edit_path(guess, truth)
    return distance / max(1, len(truth)), path


@edit_path.mistake("counts the moves")
def moves_counted(guess, truth):
    """Your distance is the length of the path. A pair of equal tokens is a move, but no edit."""
    _, path = reference.edit_path(guess, truth)
    return len(path), path


@edit_path.mistake("returns the path from its end")
def backwards(guess, truth):
    """Your path runs from the end to the beginning, as you found it. Reverse it."""
    distance, path = reference.edit_path(guess, truth)
    return distance, path[::-1]


@edit_path.mistake("exchanges the columns of the path")
def columns_exchanged(guess, truth):
    """The first number of a row belongs to the truth in your path, the second to the guess. It should be the other way
    round: (i, j) pairs guess[i] with truth[j]."""
    distance, path = reference.edit_path(guess, truth)
    return distance, path[:, ::-1]


@edit_path.mistake("leaves the gaps out of the path")
def gaps_left_out(guess, truth):
    """Your path has the pairs alone. A token without a partner has a row, too, with -1 in place of its partner."""
    distance, path = reference.edit_path(guess, truth)
    return distance, path[(path >= 0).all(axis=1)]


@edit_path.mistake("writes the edits alone")
def edits_alone(guess, truth):
    """Your path lacks the pairs of equal tokens. The path goes through all tokens of both sequences; without the equal
    ones it is not an alignment."""
    distance, path = reference.edit_path(guess, truth)
    kept = [i < 0 or j < 0 or guess[i] != truth[j] for i, j in path]
    return distance, path[np.array(kept, bool)]


@edit_path.mistake("counts tokens of the path from 1")
def from_one(guess, truth):
    """The numbers in your path are too large by one: they are places in the table, whose row 0 and column 0 stand for
    the empty sequence. Token i of the guess belongs to row i + 1."""
    distance, path = reference.edit_path(guess, truth)
    return distance, np.where(path >= 0, path + 1, path)


@edit_path.mistake("prefers gaps to pairs")
def gaps_first(guess, truth):
    """Your path is one of the shortest, but not the one that the exercise asks for. Going back from the end, it takes a
    gap where a pair costs the same. Try the pair first."""
    return by_table(guess, truth, prefer="ltp")


@edit_path.mistake("prefers a token put in to one left out")
def insertions_first(guess, truth):
    """Your path is one of the shortest, but not the one that the exercise asks for. Where leaving out and putting in
    cost the same, it puts a token in. Going back from the end, try leaving out first."""
    return by_table(guess, truth, prefer="ptl")


@edit_path.mistake("chooses the path from the beginning")
def forward_choice(guess, truth):
    """Your path is one of the shortest, but it makes its choices from the beginning. Make them on the way back from the
    end of the table."""
    distance, path = by_table(guess[::-1], truth[::-1])
    n, m = len(guess), len(truth)
    turned = np.where(path >= 0, np.array([n - 1, m - 1]) - path, path)
    return distance, turned[::-1]


@edit_path.equivalent
def by_recursion(guess, truth):
    @cache
    def least(i, j):
        if not (i and j):
            return i + j
        pair = least(i - 1, j - 1) + int(guess[i - 1] != truth[j - 1])
        return min(pair, least(i, j - 1) + 1, least(i - 1, j) + 1)

    def moves(i, j):
        if i and j and least(i, j) == least(i - 1, j - 1) + int(guess[i - 1] != truth[j - 1]):
            return [*moves(i - 1, j - 1), (i - 1, j - 1)]
        if j and least(i, j) == least(i, j - 1) + 1:
            return [*moves(i, j - 1), (-1, j - 1)]
        return [*moves(i - 1, j), (i - 1, -1)] if i else []

    path = moves(len(guess), len(truth))
    return least(len(guess), len(truth)), np.array(path, int).reshape(-1, 2)


@edit_path.equivalent
def row_by_row(guess, truth):
    """Two rows at a time for the costs, and the moves written down as they are chosen."""
    above, chosen = list(range(len(truth) + 1)), []
    for i, token in enumerate(guess):
        row, moves = [i + 1], ["t"]
        for j, right in enumerate(truth):
            options = [(above[j] + (token != right), 0, "p"), (row[j] + 1, 1, "l"), (above[j + 1] + 1, 2, "t")]
            cost, _, move = min(options)
            row.append(cost)
            moves.append(move)
        above = row
        chosen.append(moves)
    path, i, j = [], len(guess), len(truth)
    while i or j:
        move = "l" if not i else chosen[i - 1][j]
        i, j = i - (move != "l"), j - (move != "t")
        path.append([i if move != "l" else -1, j if move != "t" else -1])
    return above[-1], np.array(path[::-1], int).reshape(-1, 2)


@edit_path.equivalent
def by_paths(guess, truth):
    """The best path of every beginning is kept whole; a smaller second number wins a tie."""
    best = {(0, 0): (0, ())}
    for i in range(len(guess) + 1):
        for j in range(len(truth) + 1):
            options = []
            if i and j:
                cost, path = best[i - 1, j - 1]
                options.append((cost + int(guess[i - 1] != truth[j - 1]), 0, (*path, (i - 1, j - 1))))
            if j:
                cost, path = best[i, j - 1]
                options.append((cost + 1, 1, (*path, (-1, j - 1))))
            if i:
                cost, path = best[i - 1, j]
                options.append((cost + 1, 2, (*path, (i - 1, -1))))
            if options:
                cost, _, path = min(options, key=lambda option: option[:2])
                best[i, j] = cost, path
    distance, path = best[len(guess), len(truth)]
    return np.int64(distance), np.array(path, int).reshape(-1, 2)
