import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import since as reference

accept_draft = Exercise(reference.accept_draft, outputs={"tokens": "m"}, section="A draft, and who checks it")
wrong = short_mistakes(accept_draft)


def a_draft(draw, n, vocab, refused=None):
    """Return a draft whose guess number `refused` is refused, or no guess if it is None."""
    small, large = (draw.rng.dirichlet(np.full(vocab, 2.0), size) for size in (n, n + 1))
    draft, chances = draw.rng.integers(vocab, size=n), draw.rng.random(n)
    for i in range(n):
        if i == refused:
            draft[i] = np.argmin(large[i] - small[i])
        ratio = large[i, draft[i]] / small[i, draft[i]]
        chances[i] = ratio + (1 - ratio) * chances[i] if i == refused else min(ratio, 1) * chances[i]
    return {"draft": draft, "small": small, "large": large, "chances": chances, "place": float(draw.rng.random())}


def a_clear_draft(draw, n, vocab, refused=None):
    """Return a draft that only one token can follow: the vocabulary's last token, or any token after a draft accepted
    whole.

    All guesses are token 0, for which the large model's probability is 0.6 times the small one's. At this place the
    large model, the small one and the absolute difference would all draw token 0.
    """
    others = 0.5 / (vocab - 1) + 0.5 * draw.rng.dirichlet(np.full(vocab - 1, 2.0), n)
    first = draw.rng.uniform(0.5, 0.6, (n, 1))
    small = np.hstack([first, (1 - first) * others])
    large = 0.6 * small
    large[:, -1] += 0.4
    free = np.eye(vocab)[draw.rng.integers(1, vocab)]
    chances = draw.rng.uniform(0.4, 0.58, n)  # above the large model's probability
    if refused is not None:
        chances[refused] = draw.rng.uniform(0.62, 1)
    return {
        "draft": np.zeros(n, int), "small": small, "large": np.vstack([large, free]), "chances": chances,
        "place": float(draw.rng.uniform(0, 0.01)),
    }  # fmt: skip


@accept_draft.cases("which guesses stay", points=1)
def _(draw):
    vocab, n = draw.size(4, 8), draw.size(3, 6)
    yield "the first is refused", a_clear_draft(draw, n, vocab, 0)
    yield "the second is refused", a_clear_draft(draw, n, vocab, 1)
    yield "the last is refused", a_clear_draft(draw, n, vocab, n - 1)
    yield "none is refused", a_clear_draft(draw, n, vocab)
    small_chances = a_clear_draft(draw, n, vocab)
    small_chances["chances"] *= 0.01
    yield "small chances", small_chances


@accept_draft.cases("the token that follows", points=2)
def _(draw):
    vocab, n = draw.size(6, 10), draw.size(3, 6)
    for place in (0.2, 0.5, 0.8):
        yield f"a replacement, place {place}", a_draft(draw, n, vocab, 1) | {"place": place}
        yield f"a free token, place {place}", a_draft(draw, n, vocab) | {"place": place}
    yield "a replacement of the first", a_draft(draw, n, vocab, 0)
    one_guess = {"draft": np.array([0]), "small": np.array([[0.6, 0.16, 0.24]]), "chances": np.array([0.9])}
    most_missing_first = np.array([[0.1, 0.5, 0.4], [0.2, 0.3, 0.5]])
    yield "the token that is missing most comes first", one_guess | {"large": most_missing_first, "place": 0.3}
    yield "the other token that is missing", one_guess | {"large": most_missing_first, "place": 0.75}
    yield "less is missing than the large model gives", one_guess | {"large": most_missing_first, "place": 0.6}
    accepted = one_guess | {"chances": np.array([0.1])}
    yield "not the likeliest free token", accepted | {"large": most_missing_first, "place": 0.15}


@accept_draft.cases("zeros, and no draft", points=1)
def _(draw):
    vocab, n = draw.size(4, 8), draw.size(2, 5)
    ruled_out = a_clear_draft(draw, n, vocab, 0)
    ruled_out["large"][0, -1] += ruled_out["large"][0, 0]
    ruled_out["large"][0, 0] = ruled_out["chances"][0] = 0.0
    yield "a guess that the large model rules out, and a chance of 0", ruled_out
    first_is_zero = a_clear_draft(draw, n, vocab)
    first_is_zero["large"][-1] = [0.0, *draw.rng.dirichlet(np.full(vocab - 1, 2.0))]
    yield "a place of 0", first_is_zero | {"place": 0.0}
    no_draft = a_draft(draw, 0, vocab)
    sums, rarest = np.cumsum(no_draft["large"][0]), np.argmin(no_draft["large"][0])
    yield "a refused guess, and a place of 0", a_clear_draft(draw, n, vocab, 0) | {"place": 0.0}
    yield "no draft", no_draft | {"place": float(sums[rarest] - no_draft["large"][0, rarest] / 2)}


def drawn(weights, place):
    sums = np.cumsum(weights)
    return int(np.argmax(sums > place * sums[-1]))


def checked(draft, small, large, chances, place, **put):
    """Check a draft with parts replaced.

    put: `accepts`, from (chance, small row, large row, guess) to whether the guess stays; `row`, from a place in the
    draft to the large model's row; `missing`, from (small row, large row) to the weights of a replacement; `draw`, from
    weights and place to a token; `replaced`, from (draft, i, token) to the tokens after a refusal at i;
    `free`, the row for the free token.
    """
    accepts = put.get("accepts", lambda chance, small, large, guess: chance * small[guess] < large[guess])
    row = put.get("row", lambda i: i)
    missing = put.get("missing", lambda small, large: np.maximum(large - small, 0))
    replaced = put.get("replaced", lambda draft, i, token: np.append(draft[:i], token))
    draw = put.get("draw", drawn)
    for i, guess in enumerate(draft):
        if not accepts(chances[i], small[i], large[row(i)], guess):
            return replaced(draft, i, draw(missing(small[i], large[row(i)]), place))
    return np.append(draft, drawn(large[put.get("free", -1)], place))


wrong("accepts_every_guess", checked, accepts=lambda *_: True)("""
    accepts every guess
    You refuse no guess, so the small model writes the text. A guess that the small model makes too often must be
    refused sometimes: with probability 1 - large / small.""")
wrong("accepts_if_larger", checked, accepts=lambda _, small, large, guess: small[guess] < large[guess])("""
    accepts a guess only if the large model gives it more
    You refuse a guess whenever the small model gives it a larger probability than the large model does. The chance
    decides whether it should still be accepted: accept if chance * small < large.""")
wrong("accepts_the_likeliest", checked, accepts=lambda _, s, large, guess: guess == large.argmax())("""
    accepts a guess only if it is the large model's likeliest token
    You accept a guess if the large model finds no other token likelier. That is right for greedy decoding. Here the
    text must follow the large model's distribution, in which other tokens occur, too.""")
wrong("without_the_small", checked, accepts=lambda chance, s, large, guess: chance < large[guess])("""
    compares the chance with the large model's probability alone
    You accept a guess with the large model's probability. The small model has already drawn the token with its own
    probability, so tokens would come with the product of the two. Divide by the small model's probability: chance <
    large / small.""")
wrong("exchanged", checked, accepts=lambda chance, small, large, guess: chance * large[guess] < small[guess])("""
    exchanges the two models when it accepts
    You accept if chance * large < small, so you always accept tokens that the small model guesses too often. The ratio
    is large / small.""")
wrong(
    "keeps_the_rest", checked, replaced=lambda draft, i, token: np.concatenate([draft[:i], [token], draft[i + 1 :]])
)("""
    keeps the guesses after a refused one
    After a refusal you replace the guess but keep the guesses after it. The models drew and judged them after a token
    that is no longer in the text. The text ends with the replacement.""")
wrong("keeps_the_refused", checked, replaced=lambda draft, i, token: np.append(draft[: i + 1], token))("""
    keeps the refused guess in front of its replacement
    The refused guess is still in the text, followed by its replacement. Leave it out: `draft[:i]` ends before it.""")
wrong("not_replaced", checked, replaced=lambda draft, i, token: draft[:i])("""
    does not replace a refused guess
    The text ends before the refused guess. Then tokens that the small model seldom guesses are too rare. The
    replacement makes up for that.""")


def changed(draft, small, large, chances, place, *, change):
    """Apply a function to the right tokens, the draft, the large model's rows and the place."""
    return change(reference.accept_draft(draft, small, large, chances, place), draft, large, place)


wrong("no_free_token", changed, change=lambda tokens, draft, *_: tokens[: len(draft)])("""
    writes no token after a draft that is accepted whole
    If all guesses stay, you return only the draft. The large model has computed the probabilities after it, so one more
    token costs nothing. Draw it from the last row of large.""")


@accept_draft.mistake("takes the likeliest token after a draft that is accepted whole")
def likeliest_free_token(draft, small, large, chances, place):
    """If all guesses stay, you take the likeliest token of the last row of large. Draw it at `place`, as a
    replacement."""
    tokens = reference.accept_draft(draft, small, large, chances, place)
    return np.append(draft, large[-1].argmax()) if len(tokens) > len(draft) else tokens


@accept_draft.mistake("counts accepted guesses after a refused one")
def all_accepted_counted(draft, small, large, chances, place):
    """You count all guesses that pass, even those after a refused guess, and keep that many. The text ends at the first
    guess that is refused: find its place, for example with `np.argmin`."""
    rows = np.arange(len(draft))
    passing = int((chances * small[rows, draft] < large[rows, draft]).sum())
    missing = np.maximum(large[passing] - small[passing], 0) if passing < len(draft) else large[-1]
    return np.append(draft[:passing], drawn(missing, place))


wrong("replaced_from_large", checked, missing=lambda small, large: large)("""
    draws the replacement from the large model
    You draw the replacement from the large model's probabilities. Tokens that both models give are often accepted as
    guesses already, so they would come too often. Draw from what is missing: max(0, large - small).""")
wrong("replaced_from_small", checked, missing=lambda small, large: small)("""
    draws the replacement from the small model
    You draw the replacement from the small model, whose guess you have just refused. Draw from what the small model
    guesses too seldom: max(0, large - small).""")
wrong("missing_exchanged", checked, missing=lambda small, large: np.maximum(small - large, 0))("""
    exchanges the two models in the replacement
    You draw a replacement from what the small model gives too much: max(0, small - large). Draw it from what is missing
    so far: max(0, large - small).""")
wrong("absolute_difference", checked, missing=lambda small, large: np.abs(large - small))("""
    draws the replacement from the absolute difference
    Your replacement may be a token that the small model gives too often, because you ignore the sign of the difference.
    But these are the tokens that you refuse. If large - small is negative, the weight is 0.""")
wrong("a_little_missing", checked, missing=lambda small, large: np.maximum(large - small, 1e-10))("""
    leaves every token a small weight in the replacement
    You replace negative differences by a small number such as 1e-10, not by 0. At place 0 the replacement is then the
    first token, even if the small model gives it too often. Use max(0, large - small).""")
wrong(
    "not_normalised",
    checked,
    draw=lambda weights, place: min(int((np.cumsum(weights) <= place).sum()), len(weights) - 1),
)("""
    does not divide what is missing by its sum
    max(0, large - small) adds up to less than one, and you compare its sums with `place` as if it were one. A large
    place then exceeds all sums. Divide by the total, or multiply the place by it.""")
wrong("most_missing", checked, draw=lambda weights, place: int(weights.argmax()))("""
    always takes the token that is missing most
    Your replacement is always the token with the largest difference. Draw it with `place` instead, because other
    missing tokens must come, too.""")


@accept_draft.mistake("uses the chance that refused a guess for its replacement, too")
def chance_again(draft, small, large, chances, place):
    """The number that refused the guess also draws its replacement. The guess was refused because this number was at
    least large / small, so you never draw a token whose cumulative sum is below this ratio. Draw with `place`, which is
    independent of the refusal."""
    tokens = reference.accept_draft(draft, small, large, chances, place)
    return (
        checked(draft, small, large, chances, float(chances[len(tokens) - 1])) if len(tokens) <= len(draft) else tokens
    )


@accept_draft.mistake("takes the free token from the row before the last")
def free_row_too_early(draft, small, large, chances, place):
    """You draw the free token from the probabilities of the last guess. The row after the whole draft is the last row,
    `large[n]`."""
    return checked(draft, small, large, chances, place, free=-2 if len(draft) else -1)


wrong("row_too_late", checked, row=lambda i: i + 1)("""
    reads the large model one row too late
    You compare guess i with row i + 1 of large, which is what the large model expects *after* this guess. Both models'
    rows i belong to token i.""")
wrong("zero_accepted", checked, accepts=lambda chance, small, large, guess: chance * small[guess] <= large[guess])("""
    accepts what the large model rules out, if the chance is 0
    You accept a guess of probability 0 in the large model if its chance is exactly 0, because you compare chance *
    small <= large. Random numbers from [0, 1) can be 0, so use <.""")
wrong(
    "zero_drawn",
    changed,
    change=lambda tokens, draft, large, place: np.append(tokens[:-1], 0) if place == 0 else tokens,
)("""
    draws a token of probability 0, if the place is 0
    At place 0 you return the first token, even if its probability is 0, because your sum need only reach the place. It
    must exceed the place: use `side="right"` with `np.searchsorted`.""")


@accept_draft.mistake("accepts the first guess unchecked")
def first_unchecked(draft, small, large, chances, place):
    """The first guess always stays, because you check only from the second guess on. Begin with draft[0]."""
    return checked(draft, small, large, np.append(0.0 * chances[:1], chances[1:]), place)


@accept_draft.equivalent
def all_at_once(draft, small, large, chances, place):
    n = len(draft)
    here = np.arange(n)
    refused = np.flatnonzero(chances * small[here, draft] >= large[here, draft])
    i = refused[0] if refused.size else n
    weights = np.clip(large[i] - small[i], 0, None) if i < n else large[n]
    return np.append(draft[:i], np.searchsorted(np.cumsum(weights) / weights.sum(), place, side="right"))


@accept_draft.equivalent
def by_a_list(draft, small, large, chances, place):
    tokens = []
    for guess, row, wanted, chance in zip(draft, small, large, chances, strict=False):
        if chance < wanted[guess] / row[guess]:
            tokens.append(int(guess))
        else:
            missing = np.where(wanted > row, wanted - row, 0)
            return np.array([*tokens, drawn(missing / missing.sum(), place)])
    return np.array([*tokens, drawn(large[len(draft)], place)])


@accept_draft.equivalent
def with_padded_rows(draft, small, large, chances, place):
    """Add a row of zeros for the small model after the draft, so that the free token is a replacement, too."""
    padded = np.vstack([small, np.zeros((1, large.shape[1]))])
    stays = [c * padded[i, g] < large[i, g] for i, (c, g) in enumerate(zip(chances, draft, strict=True))]
    i = [*stays, False].index(False)
    missing = np.maximum(large[i] - padded[i], 0)
    sums = np.cumsum(missing)
    token = next(token for token, total in enumerate(sums) if total > place * sums[-1])
    return np.array([*draft[:i], token])
