from collections import Counter
from itertools import pairwise

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.shared import spelled
from solutions import dictionary as reference

merges_of = Exercise(reference.merges_of, outputs={"merges": ""}, section="Tokens that you train")
wrong = short_mistakes(merges_of)


def counted(draw, n_merges, **counts):
    """Return the arguments for words with drawn letters; a word in capitals gets a space before it."""
    words = [f" {word.lower()}" if word.isupper() else word for word in counts]
    return {"counts": dict(zip(spelled(draw, words), counts.values(), strict=True)), "n_merges": n_merges}


@merges_of.cases("the most frequent first", points=2)
def _(draw):
    yield "the paper's words", counted(draw, 4, low=5, lower=2, newest=6, widest=3)
    yield "one word, often", counted(draw, 3, abc=draw.size(20, 40), cab=2, bca=3, bcd=9)
    yield "with a space in front", counted(draw, 4, THE=7, THEN=2, THIN=4, bath=3)
    yield "rare words with much in common", counted(draw, 3, abd=2, abe=2, abf=2, gh=5)


@merges_of.cases("counts that change", points=1)
def _(draw):
    # After the first merge, a neighbouring pair is no longer the second most frequent.
    yield "a pair that a merge uses up", counted(draw, 6, abc=10, bcd=4, de=8, dea=3, ab=2)
    yield "a pair with a joined token", counted(draw, 5, abcd=9, abce=5, bcde=4, cdea=3)
    yield "a pair twice in a word", counted(draw, 2, abab=3, cd=5)
    yield "letters in a row", counted(draw, 3, aaaa=4, aaab=3, ba=5)
    yield "three in a row", counted(draw, 3, aaa=4, ab=3, bc=5)


@merges_of.cases("ties and ends", points=1)
def _(draw):
    yield "pairs that are equally frequent", counted(draw, 4, cd=3, ab=3, ba=3, dc=3)
    yield "no pair left", counted(draw, 9, ab=2, cab=1)
    yield "no merge", counted(draw, 0, abab=2)
    yield "single letters", counted(draw, 5, a=4, b=2)


def by_counting(
    counts, n_merges, count=None, choose=None, join=reference.joined, stop=lambda most: most <= 0, at_once=1
):
    """Return merges, with another way to count a piece, to choose a pair or to join one; several from one count."""
    count = count or (lambda tokens, n: Counter({pair: n * k for pair, k in Counter(pairwise(tokens)).items()}))
    choose = choose or (lambda often: min(often, key=lambda pair: (-often[pair], pair)))
    tokens = {piece: list(piece) for piece in counts}
    merges = []
    while len(merges) < n_merges:
        often = Counter()
        for piece, n in counts.items():
            often.update(count(tokens[piece], n))
        if not often or stop(max(often.values())):
            break
        for _ in range(min(at_once, len(often), n_merges - len(merges))):
            merges.append(choose(often))
            del often[merges[-1]]
            tokens = {piece: join(parts, merges[-1]) for piece, parts in tokens.items()}
    return merges


@merges_of.mistake("counts each piece once")
def each_once(counts, n_merges):
    """You count a pair once for each *different* piece. A piece that occurs often counts as often: add its count."""
    return by_counting(counts, n_merges, count=lambda tokens, n: Counter(pairwise(tokens)))


wrong("once_in_a_piece", by_counting, count=lambda tokens, n: Counter(dict.fromkeys(pairwise(tokens), n)))("""
    counts a pair once for each piece
    A pair that stands twice in a piece counts once in your sums. Count each of its places.""")
wrong(
    "without_overlaps",
    by_counting,
    count=lambda tokens, n: Counter(
        {pair: n * (len(tokens) - len(reference.joined(tokens, pair))) for pair in pairwise(tokens)}
    ),
)("""
    counts overlapping pairs once
    In a row of three equal letters, you count the pair once, because only one of its places can be joined. Count all
    neighbours: the first and second letter are a pair, and so are the second and third.""")


@merges_of.mistake("counts the pairs once for all")
def counted_once(counts, n_merges):
    """You count the pairs of characters and take the most frequent ones. After a merge, the neighbours are others:
    tokens that were joined form new pairs, and old pairs disappear. Count again after each merge."""
    often = Counter()
    for piece, n in counts.items():
        for pair in pairwise(piece):
            often[pair] += n
    return sorted(often, key=lambda pair: (-often[pair], pair))[:n_merges]


wrong("two_for_each_count", by_counting, at_once=2)("""
    takes two pairs from one count
    You take the two most frequent pairs of each count. But the first merge makes new pairs, and can change how often
    the second pair occurs. Count again after each merge.""")


@merges_of.mistake("joins tokens that are used already")
def overlapping(counts, n_merges):
    """You join overlapping pairs: from a row of three equal tokens you make two joined ones. A token belongs to one
    pair: go on after the pair that you have joined."""

    def join(tokens, pair):
        joined, used = [], False
        for i, token in enumerate(tokens):
            if tuple(tokens[i : i + 2]) == pair:
                joined.append(token + tokens[i + 1])
                used = True
            else:
                joined += [] if used else [token]
                used = False
        return joined

    return by_counting(counts, n_merges, join=join)


@merges_of.mistake("joins only the first pair in a piece")
def first_only(counts, n_merges):
    """In each piece you join the pair only at its first place. Join it wherever it stands."""

    def join(tokens, pair):
        i = next((i for i in range(len(tokens)) if tuple(tokens[i : i + 2]) == pair), len(tokens))
        return tokens if i == len(tokens) else [*tokens[:i], "".join(pair), *tokens[i + 2 :]]

    return by_counting(counts, n_merges, join=join)


@merges_of.mistake("joins from right to left")
def from_the_right(counts, n_merges):
    """You join from right to left. In three equal letters, the *first* two become a token."""

    def join(tokens, pair):
        backwards = reference.joined([t[::-1] for t in reversed(tokens)], (pair[1][::-1], pair[0][::-1]))
        return [t[::-1] for t in reversed(backwards)]

    return by_counting(counts, n_merges, join=join)


wrong("last_of_equals", by_counting, choose=lambda often: max(often, key=lambda pair: (often[pair], pair)))("""
    breaks ties by the last in alphabetical order
    Of equally frequent pairs you take the last in alphabetical order, as `max` of (count, pair) does. Take the
    first.""")
wrong("first_seen", by_counting, choose=lambda often: max(often, key=often.get))("""
    breaks ties by the order of the pieces
    Of equally frequent pairs you take the one that you counted first, which depends on the order of the dict. Take the
    first in alphabetical order.""")


@merges_of.mistake("breaks ties by the joined text")
def by_joined_text(counts, n_merges):
    """Of equally frequent pairs you take the one whose joined text is longest. Take the first pair in alphabetical
    order."""
    return by_counting(
        counts, n_merges, choose=lambda often: max(often, key=lambda pair: (often[pair], len("".join(pair)), pair))
    )


wrong("joined_tokens", lambda counts, n_merges: ["".join(pair) for pair in reference.merges_of(counts, n_merges)])("""
    returns joined tokens
    You return the new tokens. Return the *pairs* that make them, because `text_tokens` needs to know what to join.""")
wrong("stops_early", by_counting, stop=lambda most: most <= 1)("""
    stops at pairs that occur once
    You stop when the most frequent pair occurs only once, or not often. Go on until there are `n_merges`, or no
    neighbours are left.""")


@merges_of.mistake("goes on without a pair")
def never_ends(counts, n_merges):
    """When no piece has two tokens left, `max` has nothing to choose from and raises an exception. Return the merges
    that you have by then."""
    merges = reference.merges_of(counts, n_merges)
    return merges if len(merges) == n_merges else max(dict[tuple[str, str], int]())


@merges_of.mistake("counts pairs across the pieces")
def across_pieces(counts, n_merges):
    """You put all pieces into one row of tokens, and count pairs whose tokens belong to two pieces. A merge never
    crosses the border of a piece."""
    tokens = [token for piece, n in counts.items() for token in list(piece) * n]
    merges = []
    for _ in range(n_merges):
        often = Counter(pairwise(tokens))
        if not often:
            break
        merges.append(min(often, key=lambda pair: (-often[pair], pair)))
        tokens = reference.joined(tokens, merges[-1])
    return merges


wrong("one_more", lambda counts, n_merges: reference.merges_of(counts, n_merges + 1))("""
    makes one merge more
    Your list has one merge more than asked for.""")


@merges_of.equivalent
def recounted(counts, n_merges):
    return [list(pair) for pair in by_counting(counts, n_merges)]


@merges_of.equivalent
def by_sorting(counts, n_merges):
    return tuple(
        by_counting(counts, n_merges, choose=lambda often: sorted(often.items(), key=lambda i: (-i[1], i[0]))[0][0])
    )


@merges_of.equivalent
def by_replacing_text(counts, n_merges):
    """Write the tokens of a piece with a mark around each, and replace text."""
    marked = {piece: "".join(f"\0{letter}\1" for letter in piece) for piece in counts}
    merges = []
    for _ in range(n_merges):
        often = Counter()
        for piece, text in marked.items():
            tokens = text[1:-1].split("\1\0")
            for pair in zip(tokens, tokens[1:], strict=False):
                often[pair] += counts[piece]
        if not often:
            break
        most = max(often.values())
        a, b = min(pair for pair in often if often[pair] == most)
        merges.append((a, b))
        marked = {piece: text.replace(f"\0{a}\1\0{b}\1", f"\0{a}{b}\1") for piece, text in marked.items()}
    return merges
