from functools import cache

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from solutions import project as reference

edit_path = Exercise(
    reference.edit_path, outputs={"distance": "", "path": "n_moves 2"}, section="How many sounds are wrong"
)
wrong = short_mistakes(edit_path)


def spelled(draw, guess, truth, most_around=3):
    """Return two words, with a drawn token for each letter, between equal tokens that occur nowhere else. A path
    depends only on which tokens are equal, so the same words catch the same mistakes with each key.
    """
    letters = sorted({*guess, *truth})
    n_before, n_after = draw.rng.integers(most_around + 1, size=2)
    tokens = 1 + draw.rng.permutation(len(letters) + n_before + n_after)
    of_letter = dict(zip(letters, tokens, strict=False))
    before, after = np.split(tokens[len(letters) :], [n_before])
    return {
        name: np.concatenate([before, [of_letter[letter] for letter in word], after]).astype(int)
        for name, word in (("guess", guess), ("truth", truth))
    }


@edit_path.cases("the distance", points=2)
def _(draw):
    yield "tokens replaced", spelled(draw, "axcdyf", "abcdef")
    yield "tokens left out", spelled(draw, "acdefh", "abcdefgh")
    yield "tokens put in", spelled(draw, "abxcdeyf", "abcdef")
    yield "an exact guess", spelled(draw, "abcdef", "abcdef")
    truth = np.arange(1, draw.size(6, 10))
    yield "everything moved by one place", {"guess": np.concatenate([truth[1:], [20]]), "truth": truth}
    yield "two neighbours exchanged", spelled(draw, "acbdef", "abcdef")


@edit_path.cases("which of several shortest paths", points=1)
def _(draw):
    n = draw.size(2, 4)
    yield "one of several equal tokens left out", spelled(draw, "a" * n, "a" * (n + 1))
    yield "one more of several equal tokens", spelled(draw, f"b{'a' * (n + 1)}b", f"b{'a' * n}b")
    yield "two tokens in turn", spelled(draw, "ababa", "babab", most_around=0)
    yield "few letters", spelled(draw, "abcbaccab", "bcabbaac")
    yield "others of few letters", spelled(draw, "abbabaa", "babaabbab")


@edit_path.cases("nothing guessed, or nothing to guess", points=1)
def _(draw):
    yield "an empty guess", {"guess": np.zeros(0, int), "truth": draw.tokens(draw.size(3, 6))}
    yield "an empty truth", {"guess": draw.tokens(draw.size(3, 6)), "truth": np.zeros(0, int)}
    yield "an empty guess of an empty truth", {"guess": np.zeros(0, int), "truth": np.zeros(0, int)}
    yield "something", spelled(draw, "axcdyef", "abcdef")


def table_of(guess, truth, replace=1, left=1, put=1, free_start=False, swaps=False):
    """Return the lowest costs for all beginnings of both words."""
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
    """Walk back from the end of both. prefer: the order in which to try the moves: p, pair; l, leave out; t, put in."""
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


wrong("replaced_twice", by_table, replace=2)("""
    counts a replaced token twice
    You count 2 for a replaced token, as one left out and one put in. In this distance it is one edit and costs 1.""")


@edit_path.mistake("starts with zeros in the first row and column")
def free_start(guess, truth):
    """Your table begins with zeros in its first row and column, so tokens at the beginning can be left out or put in at
    no cost. The first row counts 0, 1, 2, ..., because it takes j edits to get from nothing to j tokens."""
    table = table_of(guess, truth, free_start=True)
    return int(table[-1, -1]), reference.edit_path(guess, truth)[1]


@edit_path.mistake("does not let tokens be put in")
def no_insertions(guess, truth):
    """Inside the table you take the smaller of two costs, paired or left out. Then a token that the guess adds in the
    middle of a word costs more than one edit. Take the smallest of three costs."""
    table = np.add.outer(np.arange(len(guess) + 1), np.arange(len(truth) + 1))
    for i, token in enumerate(guess):
        for j, right in enumerate(truth):
            table[i + 1, j + 1] = min(table[i, j] + (token != right), table[i + 1, j] + 1)
    return int(table[-1, -1]), walk(table, guess, truth)


@edit_path.mistake("counts exchanged neighbours once")
def swaps_once(guess, truth):
    """You count 1 for two neighbours that are swapped. That is Damerau's distance. Here a swap is two edits."""
    return int(table_of(guess, truth, swaps=True)[-1, -1]), reference.edit_path(guess, truth)[1]


@edit_path.mistake("divides by the length")
def divided(guess, truth):
    """You return the error rate of one word. The exercise asks for the number of edits: to average words of different
    lengths, add up edits and lengths first, and divide once."""
    distance, path = reference.edit_path(guess, truth)
    return distance / max(1, len(truth)), path


wrong("moves_counted", changing(reference.edit_path), change=lambda _, path: (len(path), path))("""
    counts the moves
    Your distance is the length of the path. A pair of equal tokens is a move, but not an edit.""")
wrong("backwards", changing(reference.edit_path), change=lambda distance, path: (distance, path[::-1]))("""
    returns the path from its end
    Your path runs from the end to the beginning, as you found it. Reverse it.""")
wrong("columns_exchanged", changing(reference.edit_path), change=lambda distance, path: (distance, path[:, ::-1]))("""
    exchanges the columns of the path
    In your path, the first number of a row belongs to the truth and the second to the guess. Swap them: (i, j) pairs
    guess[i] with truth[j].""")


@edit_path.mistake("leaves the gaps out of the path")
def gaps_left_out(guess, truth):
    """Your path has only the pairs. A token without a partner has a row, too, with -1 instead of its partner."""
    distance, path = reference.edit_path(guess, truth)
    return distance, path[(path >= 0).all(axis=1)]


@edit_path.mistake("writes the edits alone")
def edits_alone(guess, truth):
    """Your path lacks the pairs of equal tokens. The path goes through all tokens of both sequences: without the pairs
    of equal tokens, it is not an alignment."""
    distance, path = reference.edit_path(guess, truth)
    kept = [i < 0 or j < 0 or guess[i] != truth[j] for i, j in path]
    return distance, path[np.array(kept, bool)]


@edit_path.mistake("counts tokens of the path from 1")
def from_one(guess, truth):
    """The numbers in your path are too large by one: they are places in the table, whose row 0 and column 0 stand for
    the empty sequence. Token i of the guess belongs to row i + 1."""
    distance, path = reference.edit_path(guess, truth)
    return distance, np.where(path >= 0, path + 1, path)


wrong("gaps_first", by_table, prefer="ltp")("""
    prefers gaps to pairs
    Your path is one of the shortest, but not the one that the exercise asks for. Going back from the end, it takes a
    gap when a pair costs the same. Try the pair first.""")
wrong("insertions_first", by_table, prefer="ptl")("""
    prefers a token put in to one left out
    Your path is one of the shortest, but not the one that the exercise asks for. When leaving out and putting in cost
    the same, it puts a token in. Going back from the end, try leaving out first.""")


@edit_path.mistake("chooses the path from the beginning")
def forward_choice(guess, truth):
    """Your path is one of the shortest, but it makes its choices from the beginning. Make them on the way back from the
    end of the table."""
    distance, path = by_table(guess[::-1], truth[::-1])
    n, m = len(guess), len(truth)
    turned = np.where(path >= 0, np.array([n - 1, m - 1]) - path, path)
    return distance, turned[::-1]


@edit_path.mistake("exchanges what is left out and what is put in")
def gaps_exchanged(guess, truth):
    """The pairs are right, but a token that was left out has the row (j, -1), and a token that was put in has (-1, i).
    The first column belongs to the guess: (-1, j) leaves truth[j] out, and (i, -1) puts guess[i] in."""
    distance, path = reference.edit_path(guess, truth)
    gaps = (path < 0).any(axis=1)
    return distance, np.where(gaps[:, None], path[:, ::-1], path)


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
    """Keep two rows of costs at a time, and write down each move when it is chosen."""
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
    """Keep the whole best path of every beginning; a smaller second number wins a tie."""
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
