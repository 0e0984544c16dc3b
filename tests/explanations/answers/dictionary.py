"""Wrong answers to chapter 12, a dictionary of words that do not exist: its tokeniser."""

from collections import Counter
from functools import cache

from solutions.definitions import pieces
from tests.explanations.registry import wrong


def merged(tokens, pair):
    joined, i = [], 0
    while i < len(tokens):
        n = 2 if tuple(tokens[i : i + 2]) == pair else 1
        joined.append("".join(tokens[i : i + n]))
        i += n
    return joined


def pairs_of(tokens):
    return list(zip(tokens, tokens[1:], strict=False))


def stats(words, pairs=pairs_of):
    often = Counter()
    for tokens, n in words:
        for pair in pairs(tokens):
            often[pair] += n
    return often


def in_order(often):
    return sorted(often, key=lambda pair: (-often[pair], pair))


def trained(counts, n_merges, pairs=pairs_of, chosen=lambda often: in_order(often)[:1], lowest=1):
    words, merges = [(list(piece), n) for piece, n in counts.items()], []
    while len(merges) < n_merges:
        often = stats(words, pairs)
        often = Counter({pair: n for pair, n in often.items() if n >= lowest})
        if not often:
            break
        for pair in chosen(often):
            merges.append(pair)
            words = [(merged(tokens, pair), n) for tokens, n in words]
    return merges[:n_merges]


@wrong("merges_of", "https://github.com/karpathy/minbpe/pull/90", names="first_seen")
def ties_as_counted(counts, n_merges):
    """Leaves ties to `max`, which takes the pair that was counted first."""
    return trained(counts, n_merges, chosen=lambda often: [max(often, key=often.get)])


@wrong("merges_of", "https://github.com/karpathy/minbpe/pull/72", names="without_overlaps")
def without_overlaps(counts, n_merges):
    """Counts only the places of a pair that do not overlap."""

    def pairs(tokens):
        found, last = [], {}
        for i, pair in enumerate(pairs_of(tokens)):
            if last.get(pair) != i - 1:
                found.append(pair)
                last[pair] = i
        return found

    return trained(counts, n_merges, pairs)


@wrong("merges_of", "https://github.com/soaxelbrooke/python-bpe/issues/20", names="counted_once")
def in_one_shot(counts, n_merges):
    """Counts once, and takes the most frequent pairs of characters."""
    often = stats([(list(piece), n) for piece, n in counts.items()])
    return in_order(often)[:n_merges]


@wrong("merges_of", "https://github.com/karpathy/minbpe/issues/69", names="two_for_each_count")
def two_for_each_count(counts, n_merges):
    """Takes the two most frequent pairs of each count."""
    return trained(counts, n_merges, chosen=lambda often: in_order(often)[:2])


@wrong("merges_of", "https://github.com/karpathy/minbpe/issues/114", names="never_ends")
def maximum_of_nothing(counts, n_merges):
    """Takes the maximum of no pairs when all pieces are single tokens."""
    words, merges = [(list(piece), n) for piece, n in counts.items()], []
    for _ in range(n_merges):
        often = stats(words)
        most = max(often.values())
        merges.append(min(pair for pair in often if often[pair] == most))
        words = [(merged(tokens, merges[-1]), n) for tokens, n in words]
    return merges


@wrong("merges_of", "https://github.com/OpenNMT/Tokenizer/issues/183", names="stops_early")
def twice_at_least(counts, n_merges):
    """Stops when no pair occurs twice."""
    return trained(counts, n_merges, lowest=2)


@wrong("merges_of", "https://github.com/umran666/UniqToken/issues/8")
def stale_counts_dropped(counts, n_merges):
    """Forgets each pair of a changed piece that this piece no longer has, although other pieces have it."""
    words, merges = [(list(piece), n) for piece, n in counts.items()], []
    forgotten = set()
    while len(merges) < n_merges:
        often = Counter({pair: n for pair, n in stats(words).items() if pair not in forgotten})
        if not often:
            break
        pair = in_order(often)[0]
        merges.append(pair)
        for i, (tokens, n) in enumerate(words):
            joined = merged(tokens, pair)
            forgotten |= set(pairs_of(tokens)) - set(pairs_of(joined))
            words[i] = joined, n
    return merges


def tokens_by(text, split):
    return [token for piece in pieces(text) for token in split(piece)]


@wrong("text_tokens", "https://github.com/karpathy/llama2.c/pull/171", names="first_in_the_text")
def joined_while_scanning(text, merges):
    """Joins whatever it can, from left to right, until nothing changes."""

    def split(piece):
        tokens, i = list(piece), 0
        while i < len(tokens) - 1:
            if (tokens[i], tokens[i + 1]) in merges:
                tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
                i = 0
            else:
                i += 1
        return tokens

    return tokens_by(text, split)


@wrong("text_tokens", "https://github.com/karpathy/minbpe/issues/100", names="in_one_pass")
def one_loop(text, merges):
    """Applies each merge once, in the order of the list."""

    def split(piece):
        tokens = list(piece)
        for pair in merges:
            tokens = merged(tokens, pair)
        return tokens

    return tokens_by(text, split)


@wrong("text_tokens", "https://github.com/openai/tiktoken/issues/99", names="longest_match")
def fewest_tokens(text, merges):
    """Splits each piece into as few tokens as possible."""
    known = {left + right for left, right in merges}

    @cache
    def shortest(piece):
        ends = [n for n in range(len(piece), 0, -1) if n == 1 or piece[:n] in known]
        return min(((piece[:n], *shortest(piece[n:])) for n in ends), key=len) if piece else ()

    return tokens_by(text, shortest)


@wrong("text_tokens", "https://github.com/karpathy/minbpe/issues/11", names="by_joined_text")
def ranked_by_the_joined_text(text, merges):
    """Joins neighbours whose joined text is a token, also if they are not a pair of the list."""
    rank = {}
    for i, (left, right) in enumerate(merges):
        rank.setdefault(left + right, i)

    def split(piece):
        tokens = list(piece)
        while True:
            ranked = [(rank[a + b], i) for i, (a, b) in enumerate(pairs_of(tokens)) if a + b in rank]
            if not ranked:
                return tokens
            _, i = min(ranked)
            tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]

    return tokens_by(text, split)


@wrong("text_tokens", "https://github.com/ggml-org/llama.cpp/pull/7193", names="whole_pieces_first")
def whole_pieces_first(text, merges):
    """Keeps a piece whole if it is a token, whether or not the merges lead to it."""
    known = {left + right for left, right in merges}

    def split(piece):
        tokens = [piece] if piece in known else list(piece)
        while found := [pair for pair in merges if pair in pairs_of(tokens)]:
            tokens = merged(tokens, found[0])
        return tokens

    return tokens_by(text, split)


def replayed(piece, merges):
    tokens = list(piece)
    while found := [pair for pair in merges if pair in pairs_of(tokens)]:
        tokens = merged(tokens, found[0])
    return tokens


@wrong("text_tokens", "https://github.com/huggingface/tokenizers/issues/73", names="without_spaces")
def split_at_whitespace(text, merges):
    """Splits at whitespace, which the tokens then lack."""
    return [token for word in text.split() for piece in pieces(word) for token in replayed(piece, merges)]


@wrong("text_tokens", "https://github.com/paiml/aprender/pull/2139", names="unknown_dropped")
def looked_up(text, merges):
    """Drops the tokens that the merges do not know."""
    known = {token for left, right in merges for token in (left, right, left + right)}
    return [token for piece in pieces(text) for token in replayed(piece, merges) if token in known]


@wrong("text_tokens", "https://github.com/rasbt/LLMs-from-scratch/issues/944", names="at_spaces")
def words_with_their_space(text, merges):
    """Splits at spaces alone, and puts a space before each word but the first."""
    words = text.split(" ")
    return [token for i, word in enumerate(words) for token in replayed(" " * (i > 0) + word, merges)]


@wrong("text_tokens", "https://github.com/pie-project/pie/pull/84", names="only_characters")
def ranks_of_single_tokens(text, merges):
    """Looks for single tokens in the list of merges, so that it never joins anything."""
    rank = {left + right: i for i, (left, right) in enumerate(merges)}

    def split(piece):
        tokens = list(piece)
        while ranked := [(rank[token], i) for i, token in enumerate(tokens[:-1]) if token in rank]:
            _, i = min(ranked)
            tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
        return tokens

    return tokens_by(text, split)
