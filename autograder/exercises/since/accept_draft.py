"""accept_draft: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import since as reference

accept_draft = Exercise(reference.accept_draft, outputs={"tokens": "m"}, section="A draft, and who checks it")


def a_draft(draw, n, vocab, refused=None, *, sharp=False):
    """Return a draft whose guess number `refused` is refused, or none.

    sharp: whether only one token can follow, whatever the place.
    """
    small, large = (draw.rng.dirichlet(np.full(vocab, 2.0), size) for size in (n, n + 1))
    draft, chances = draw.rng.integers(vocab, size=n), draw.rng.random(n)
    for i in range(n):
        if i == refused or sharp:
            order = np.argsort(large[i] - small[i])
            draft[i] = order[0]
            if sharp:  # every token but one is guessed too often
                large[i] = 0.6 * small[i]
                large[i, order[-1]] = 1 - (large[i].sum() - large[i, order[-1]])
        ratio = large[i, draft[i]] / small[i, draft[i]]
        chances[i] = ratio + (1 - ratio) * chances[i] if i == refused else min(ratio, 1) * chances[i]
    if sharp:
        large[-1] = np.eye(vocab)[draw.rng.integers(vocab)]
    return {"draft": draft, "small": small, "large": large, "chances": chances, "place": float(draw.rng.random())}


@accept_draft.cases("which guesses stay", points=1)
def _(draw):
    vocab, n = draw.size(4, 8), draw.size(3, 6)
    yield "the first is refused", a_draft(draw, n, vocab, 0, sharp=True)
    yield "the second is refused", a_draft(draw, n, vocab, 1, sharp=True)
    yield "the last is refused", a_draft(draw, n, vocab, n - 1, sharp=True)
    yield "none is refused", a_draft(draw, n, vocab, sharp=True)
    small_chances = a_draft(draw, n, vocab, sharp=True)
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
    yield "not the likeliest free token", accepted | {"large": most_missing_first, "place": 0.3}


@accept_draft.cases("zeros, and no draft", points=1)
def _(draw):
    vocab, n = draw.size(4, 8), draw.size(2, 5)
    ruled_out = a_draft(draw, n, vocab, 0, sharp=True)
    guess = ruled_out["draft"][0]
    rest = ruled_out["large"][0, guess]
    ruled_out["large"][0, guess] = 0
    ruled_out["large"][0, ruled_out["large"][0].argmax()] += rest
    ruled_out["chances"][0] = 0.0
    yield "a guess that the large model rules out, and a chance of 0", ruled_out
    first_is_zero = a_draft(draw, n, vocab)
    first_is_zero["large"][-1, 1] += first_is_zero["large"][-1, 0]
    first_is_zero["large"][-1, 0] = 0
    yield "a place of 0", first_is_zero | {"place": 0.0}
    yield "no draft", a_draft(draw, 0, vocab)


def drawn(weights, place):
    sums = np.cumsum(weights)
    return int(np.argmax(sums > place * sums[-1]))


def checked(draft, small, large, chances, place, **put):
    """Check a draft with parts replaced.

    put: `accepts`, from (chance, small row, large row, guess) to whether the guess stays; `row`, from a place in the
    draft to the large model's row; `missing`, from (small row, large row) to the weights of a replacement; `draw`, from
    weights and place to a token; `replaced`, from (draft, i, token, accepted) to the tokens after a refusal at i;
    `free`, the row for the free token.
    """
    accepts = put.get("accepts", lambda chance, small, large, guess: chance * small[guess] < large[guess])
    row = put.get("row", lambda i: i)
    missing = put.get("missing", lambda small, large: np.maximum(large - small, 0))
    replaced = put.get("replaced", lambda i, token: np.append(draft[:i], token))
    draw = put.get("draw", drawn)
    for i, guess in enumerate(draft):
        if not accepts(chances[i], small[i], large[row(i)], guess):
            return replaced(i, draw(missing(small[i], large[row(i)]), place))
    return np.append(draft, drawn(large[put.get("free", -1)], place))


@accept_draft.mistake("accepts every guess")
def accepts_every_guess(draft, small, large, chances, place):
    """No guess is refused, so the small model writes the text. A guess that the small model makes too often must be
    refused sometimes: with probability 1 - large / small."""
    return checked(draft, small, large, chances, place, accepts=lambda *_: True)


@accept_draft.mistake("accepts a guess only if the large model gives it more")
def accepts_if_larger(draft, small, large, chances, place):
    """A guess is refused whenever the small model gives it a larger probability than the large one. The chance decides
    whether it should still be accepted: accept if chance * small < large."""
    return checked(
        *(draft, small, large, chances, place), accepts=lambda _, small, large, guess: small[guess] < large[guess]
    )


@accept_draft.mistake("accepts a guess only if it is the large model's likeliest token")
def accepts_the_likeliest(draft, small, large, chances, place):
    """You accept a guess if the large model finds no other token likelier. That is right for greedy decoding. Here the
    text has to have the large model's distribution, in which other tokens occur, too."""
    return checked(*(draft, small, large, chances, place), accepts=lambda _, s, large, guess: guess == large.argmax())


@accept_draft.mistake("compares the chance with the large model's probability alone")
def without_the_small(draft, small, large, chances, place):
    """You accept a guess with the large model's probability. The small model has already drawn the token with its own
    probability, so tokens would come with the product of the two. Divide by the small model's probability: chance <
    large / small."""
    return checked(
        *(draft, small, large, chances, place), accepts=lambda chance, s, large, guess: chance < large[guess]
    )


@accept_draft.mistake("exchanges the two models when it accepts")
def exchanged(draft, small, large, chances, place):
    """You accept if chance * large < small, so you always accept tokens that the small model guesses too often. The
    ratio is large / small."""
    return checked(
        *(draft, small, large, chances, place),
        accepts=lambda chance, small, large, guess: chance * large[guess] < small[guess],
    )


@accept_draft.mistake("keeps the guesses after a refused one")
def keeps_the_rest(draft, small, large, chances, place):
    """After a refusal you replace the guess and keep those after it. They were drawn and judged after a token that is
    no longer in the text. The text ends with the replacement."""
    return checked(
        *(draft, small, large, chances, place),
        replaced=lambda i, token: np.concatenate([draft[:i], [token], draft[i + 1 :]]),
    )


@accept_draft.mistake("keeps the refused guess in front of its replacement")
def keeps_the_refused(draft, small, large, chances, place):
    """The refused guess is still in the text, followed by its replacement. Leave it out: `draft[:i]` ends before it."""
    return checked(*(draft, small, large, chances, place), replaced=lambda i, token: np.append(draft[: i + 1], token))


@accept_draft.mistake("does not replace a refused guess")
def not_replaced(draft, small, large, chances, place):
    """The text ends before the refused guess. Then tokens that the small model seldom guesses are too rare. The
    replacement makes up for that."""
    return checked(*(draft, small, large, chances, place), replaced=lambda i, token: draft[:i])


@accept_draft.mistake("writes no token after a draft that is accepted whole")
def no_free_token(draft, small, large, chances, place):
    """If all guesses stay, you return the draft alone. The large model has computed the probabilities after it, so one
    more token costs nothing. Draw it from the last row of large."""
    tokens = reference.accept_draft(draft, small, large, chances, place)
    return tokens[: len(draft)] if len(tokens) > len(draft) else tokens


@accept_draft.mistake("takes the likeliest token after a draft that is accepted whole")
def likeliest_free_token(draft, small, large, chances, place):
    """If all guesses stay, you take the likeliest token of the last row of large. Draw it at `place`, as a
    replacement."""
    tokens = reference.accept_draft(draft, small, large, chances, place)
    return np.append(draft, large[-1].argmax()) if len(tokens) > len(draft) else tokens


@accept_draft.mistake("counts accepted guesses after a refused one")
def all_accepted_counted(draft, small, large, chances, place):
    """You count all guesses that pass, also those after a refused one, and keep so many. The text ends at the first
    guess that is refused: find its place, for example with `np.argmin`."""
    rows = np.arange(len(draft))
    passing = int((chances * small[rows, draft] < large[rows, draft]).sum())
    missing = np.maximum(large[passing] - small[passing], 0) if passing < len(draft) else large[-1]
    return np.append(draft[:passing], drawn(missing, place))


@accept_draft.mistake("draws the replacement from the large model")
def replaced_from_large(draft, small, large, chances, place):
    """The replacement is drawn from the large model's probabilities. Tokens that both models give were already accepted
    as guesses, and would come too often. Draw from what is missing: max(0, large - small)."""
    return checked(*(draft, small, large, chances, place), missing=lambda small, large: large)


@accept_draft.mistake("draws the replacement from the small model")
def replaced_from_small(draft, small, large, chances, place):
    """The replacement is drawn from the small model, whose guess was just refused. Draw from what the small model
    guesses too seldom: max(0, large - small)."""
    return checked(*(draft, small, large, chances, place), missing=lambda small, large: small)


@accept_draft.mistake("exchanges the two models in the replacement")
def missing_exchanged(draft, small, large, chances, place):
    """A replacement comes from what the small model gives too much: max(0, small - large). It has to come from what is
    missing so far, which is max(0, large - small)."""
    return checked(*(draft, small, large, chances, place), missing=lambda small, large: np.maximum(small - large, 0))


@accept_draft.mistake("draws the replacement from the absolute difference")
def absolute_difference(draft, small, large, chances, place):
    """Your replacement may be a token that the small model gives too often, because you ignore the sign of the
    difference. But these are the tokens that are refused. Where large - small is negative, the weight is 0."""
    return checked(*(draft, small, large, chances, place), missing=lambda small, large: np.abs(large - small))


@accept_draft.mistake("does not divide what is missing by its sum")
def not_normalised(draft, small, large, chances, place):
    """max(0, large - small) adds up to less than one, and you compare its sums with `place` as if it were one. A large
    place then exceeds all sums. Divide by the total, or multiply the place by it."""
    return checked(
        *(draft, small, large, chances, place),
        draw=lambda weights, place: min(int((np.cumsum(weights) <= place).sum()), len(weights) - 1),
    )


@accept_draft.mistake("always takes the token that is missing most")
def most_missing(draft, small, large, chances, place):
    """Your replacement is always the token with the largest difference. The replacement should be drawn, and `place`
    decides: other missing tokens must come, too."""
    return checked(*(draft, small, large, chances, place), draw=lambda weights, place: int(weights.argmax()))


@accept_draft.mistake("uses the chance that refused a guess for its replacement, too")
def chance_again(draft, small, large, chances, place):
    """The number that refused the guess also draws its replacement. The guess was refused because this number was
    large, so tokens with small sums never come. Draw with `place`, which is independent of the refusal."""
    tokens = reference.accept_draft(draft, small, large, chances, place)
    return (
        checked(draft, small, large, chances, float(chances[len(tokens) - 1])) if len(tokens) <= len(draft) else tokens
    )


@accept_draft.mistake("takes the free token from the row before the last")
def free_row_too_early(draft, small, large, chances, place):
    """The free token is drawn from the probabilities of the last guess. The row after the whole draft is the last
    one, `large[n]`."""
    return checked(draft, small, large, chances, place, free=-2 if len(draft) else -1)


@accept_draft.mistake("reads the large model one row too late")
def row_too_late(draft, small, large, chances, place):
    """You compare guess i with row i + 1 of large, which is what the large model expects *after* this guess. Both
    models' rows i belong to token i."""
    return checked(draft, small, large, chances, place, row=lambda i: i + 1)


@accept_draft.mistake("accepts what the large model rules out, if the chance is 0")
def zero_accepted(draft, small, large, chances, place):
    """You accept a guess of probability 0 in the large model if its chance is exactly 0, because you compare chance *
    small <= large. Random numbers from [0, 1) can be 0, so use <."""
    return checked(
        *(draft, small, large, chances, place),
        accepts=lambda chance, small, large, guess: chance * small[guess] <= large[guess],
    )


@accept_draft.mistake("draws a token of probability 0, if the place is 0")
def zero_drawn(draft, small, large, chances, place):
    """At place 0 you return the first token, even if its probability is 0, because the sum need only reach the place.
    It must exceed it: with `np.searchsorted` that is `side="right"`."""
    tokens = reference.accept_draft(draft, small, large, chances, place)
    return np.append(tokens[:-1], 0) if place == 0 else tokens


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
    """Behind the draft the small model gives nothing, so that the free token is a replacement, too."""
    padded = np.vstack([small, np.zeros((1, large.shape[1]))])
    stays = [c * padded[i, g] < large[i, g] for i, (c, g) in enumerate(zip(chances, draft, strict=True))]
    i = [*stays, False].index(False)
    missing = np.maximum(large[i] - padded[i], 0)
    sums = np.cumsum(missing)
    token = next(token for token, total in enumerate(sums) if total > place * sums[-1])
    return np.array([*draft[:i], token])
