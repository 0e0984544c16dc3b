from itertools import pairwise

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.shared import spelled
from solutions import dictionary as reference
from solutions.definitions import pieces

text_tokens = Exercise(reference.text_tokens, outputs={"tokens": ""}, section="From a text to tokens")
wrong = short_mistakes(text_tokens)


def split(draw, text, *merges):
    """Return the arguments, with drawn letters. merges: pairs with a | between, a capital for a space before it."""
    pairs = [merge.replace("_", " ").split("|") for merge in merges]
    flat = [part for pair in pairs for part in pair]
    text, *flat = spelled(draw, [text, *flat])
    return {"text": text, "merges": list(zip(flat[::2], flat[1::2], strict=True))}


@text_tokens.cases("one word", points=1)
def _(draw):
    yield "every merge fits", split(draw, "lowest", "e|s", "es|t", "l|o", "lo|w")
    yield "some merges fit", split(draw, "banana", "a|n", "n|e", "an|e")
    yield "no merge", split(draw, "banana")


@text_tokens.cases("which pair first", points=1)
def _(draw):
    yield "an older pair later in the word", split(draw, "abcd", "c|d", "b|c", "a|b", "b|cd")
    yield "two pairs share a token", split(draw, "these", "h|e", "t|h", "th|e", "s|e")
    yield "a long token that no merge reaches", split(draw, "abc", "a|b", "b|c", "a|bc")
    yield "a pair twice", split(draw, "ababab", "a|b", "ab|ab")
    yield "three in a row", split(draw, "aaab", "a|a", "aa|a", "a|b")
    yield "an old pair that a young one makes", split(draw, "abcd", "b|c", "abc|d", "a|bc")


@text_tokens.cases("whole texts", points=1)
def _(draw):
    merges = ("_|a", "i|n", "_|t", "_t|h", "in|g", "_|s", "s|in")
    yield "several words", split(draw, "a thing that sings", *merges)
    yield "an entry", split(draw, "singing n: a thing, a song", *merges)
    yield "pairs that would cross a border", split(draw, "ab ab n: ab, c", "a|b", "_|ab", "ab|_ab", "n|:", "ab|,")
    yield "unknown characters", split(draw, "a THING - naïve", *merges)
    yield "nothing", {"text": "", "merges": [("a", "b")]}


def by_pieces(text, merges, tokens_of=None, divide=pieces):
    return [token for piece in divide(text) for token in tokens_of(list(piece), merges)]


def oldest_first(tokens, merges, join=reference.joined):
    age = {pair: i for i, pair in enumerate(merges)}
    while known := [pair for pair in pairwise(tokens) if pair in age]:
        tokens = join(tokens, min(known, key=age.get))
    return tokens


@text_tokens.mistake("joins the first pair in the text")
def first_in_the_text(text, merges):
    """You join the first pair that is in `merges`, from left to right. Of all pairs in the piece, join the one that
    comes first in the *list*."""

    def tokens_of(tokens, merges):
        while known := [pair for pair in pairwise(tokens) if pair in merges]:
            tokens = reference.joined(tokens, known[0])
        return tokens

    return by_pieces(text, merges, tokens_of)


wrong("youngest_first", lambda text, merges: by_pieces(text, merges[::-1], oldest_first))("""
    joins the youngest pair first
    You join the pair that was learnt last. The oldest, most frequent one comes first.""")


@text_tokens.mistake("goes through the merges once")
def in_one_pass(text, merges):
    """You apply each merge once, in order. A younger merge may make a token that an older pair is waiting for: go on
    until no neighbours are a pair of `merges`."""

    def tokens_of(tokens, merges):
        for pair in merges:
            tokens = reference.joined(tokens, pair)
        return tokens

    return by_pieces(text, merges, tokens_of)


@text_tokens.mistake("chooses the longest tokens")
def longest_match(text, merges):
    """You choose from the known tokens: the longest one at each place, or as few as possible. Byte-pair encoding
    replays the merges instead, which can lead to other tokens."""
    known = {a + b for a, b in merges}

    def tokens_of(tokens, merges):
        word, result = "".join(tokens), []
        while word:
            n = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
            result.append(word[:n])
            word = word[n:]
        return result

    return by_pieces(text, merges, tokens_of)


@text_tokens.mistake("joins whatever makes a token")
def by_joined_text(text, merges):
    """You join two neighbours if their joined text is a known token. The two must themselves be a pair of `merges`:
    *ab* and *c* make the same text as *a* and *bc*, but are another pair."""
    known = [a + b for a, b in merges]

    def tokens_of(tokens, merges):
        while found := [pair for pair in pairwise(tokens) if "".join(pair) in known]:
            tokens = reference.joined(tokens, min(found, key=lambda pair: known.index("".join(pair))))
        return tokens

    return by_pieces(text, merges, tokens_of)


@text_tokens.mistake("keeps a piece that is a token")
def whole_pieces_first(text, merges):
    """You keep a piece whole if it is a known token. The merges do not always lead to it from single characters,
    because an older pair can use one of its letters first. Always replay the merges."""
    known = {a + b for a, b in merges}

    def tokens_of(tokens, merges):
        return [piece] if (piece := "".join(tokens)) in known else oldest_first(tokens, merges)

    return by_pieces(text, merges, tokens_of)


@text_tokens.mistake("joins each pair once")
def once_each(text, merges):
    """You join a pair only at its first place, and never come back to it. Join it wherever it stands."""

    def tokens_of(tokens, merges):
        for pair in merges:
            i = next((i for i in range(len(tokens)) if tuple(tokens[i : i + 2]) == pair), None)
            tokens = tokens if i is None else [*tokens[:i], "".join(pair), *tokens[i + 2 :]]
        return tokens

    return by_pieces(text, merges, tokens_of)


@text_tokens.mistake("joins from right to left")
def from_the_right(text, merges):
    """You join from right to left. In three equal letters, the *first* two become a token."""

    def join(tokens, pair):
        backwards = reference.joined([t[::-1] for t in reversed(tokens)], (pair[1][::-1], pair[0][::-1]))
        return [t[::-1] for t in reversed(backwards)]

    return by_pieces(text, merges, lambda tokens, merges: oldest_first(tokens, merges, join))


wrong("across_pieces", lambda text, merges: oldest_first(list(text), merges))("""
    joins across the pieces
    Your tokens cross the border of a piece. Split each piece on its own.""")


@text_tokens.mistake("drops the spaces")
def without_spaces(text, merges):
    """Your tokens lack the spaces: together, they must be the text. A word's piece includes the space before it."""
    return by_pieces(text, merges, oldest_first, divide=lambda text: [piece.strip() for piece in pieces(text)])


@text_tokens.mistake("splits at the spaces alone")
def at_spaces(text, merges):
    """You split the text at its spaces. Commas, colons and other characters are pieces of their own, see `pieces`."""
    words = text.split(" ")
    parts = [words[0], *(f" {word}" for word in words[1:])]
    return by_pieces(text, merges, oldest_first, divide=lambda text: parts)


@text_tokens.mistake("drops what it does not know")
def unknown_dropped(text, merges):
    """You leave out characters that occur in no merge. Each remains a token of its own, so that the text can be put
    together again."""
    known = {letter for pair in merges for part in pair for letter in part}
    return [token for token in reference.text_tokens(text, merges) if len(token) > 1 or token in known]


wrong("nested", lambda text, merges: [oldest_first(list(piece), merges) for piece in pieces(text)])("""
    returns a list for each piece
    You return a list of tokens for each piece. Put all tokens into one list.""")
wrong("only_pieces", lambda text, merges: pieces(text))("""
    returns the pieces
    You return the pieces of the text. Each of them is split into tokens.""")
wrong("only_characters", lambda text, merges: list(text))("""
    returns the characters
    You return single characters. Join those that are a pair of `merges`.""")


@text_tokens.equivalent
def by_least_rank(text, merges):
    ranks = {tuple(pair): i for i, pair in enumerate(merges)}
    result = []
    for piece in pieces(text):
        tokens = list(piece)
        while len(tokens) > 1:
            rank, i = min((ranks.get(pair, len(ranks)), i) for i, pair in enumerate(pairwise(tokens)))
            if rank == len(ranks):
                break
            tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
        result += tokens
    return result


@text_tokens.equivalent
def over_and_over(text, merges):
    """Search the list of merges from its beginning after each join."""
    result = []
    for piece in pieces(text):
        tokens = tuple(piece)
        found = True
        while found:
            found = next((tuple(pair) for pair in merges if tuple(pair) in set(pairwise(tokens))), None)
            tokens = tuple(reference.joined(tokens, found)) if found else tokens
        result.extend(tokens)
    return tuple(result)


@text_tokens.equivalent
def by_recursion(text, merges):
    def split_up(tokens):
        present = set(pairwise(tokens))
        for pair in merges:
            if tuple(pair) in present:
                return split_up(reference.joined(tokens, tuple(pair)))
        return tokens

    return [token for piece in pieces(text) for token in split_up(list(piece))]
