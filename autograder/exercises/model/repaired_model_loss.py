from itertools import compress, product

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.shared import (
    EVERYWHERE,
    SPECIAL,
    decoded,
    encoded,
    question,
    renamed,
    sources,
    steep,
    targets,
    unscaled,
)
from solutions import model as reference
from solutions.masking import padding_mask, target_mask
from solutions.model import cross_entropy

repaired_model_loss = Exercise(
    reference.repaired_model_loss, outputs={"loss": ""}, section="Find the bug", solved_by=["loss_and_gradients"]
)
wrong = short_mistakes(repaired_model_loss)
# Name of each bug -> an experiment that shows it, and the section to reread.
BUGS = {
    "shift": (
        "print the first token of each sentence that the decoder reads. It should be the begin mark.",
        "Teacher forcing",
    ),
    "scale": (
        "begin `src` and `tgt` with the same token, and print the first row that enters each of the two stacks. The "
        "two rows should be equal.",
        "Reading: the encoder",
    ),
    "memory": ("add a column of padding to `src`. The loss should stay the same.", "Writing: the decoder"),
    "padding": ("add a column of padding to `tgt`. The loss should stay the same.", "The loss"),
}


def with_one_word(draw, begin):
    """Draw targets of one word after the begin mark, without padding, so that only the shift and the scale can show.

    begin: a factor of the begin mark's embedding. At 0 the scale does not show either.
    """
    inputs = question(draw, padded=False)
    table = inputs["params"]["embeddings"]["shared"]
    table[1] *= begin
    return inputs | {"tgt": inputs["tgt"][:, :2]}


def with_equal_words(draw, tgt, padded):
    """Draw a decoder that forgets which tokens it has read, and where, so that neither the shift nor the scale can
    show.

    tgt: the pattern of both targets, whose words are all the same. padded: whether the source has padding.
    """
    inputs = question(draw, n=2, padded=padded)
    params, word = inputs["params"], draw.rng.integers(SPECIAL, 9)
    bottom, *above = params["decoder"]
    norm = bottom["norm_attention"]
    bottom = bottom | {"norm_attention": norm | {"gain": 0 * norm["gain"]}}
    params = params | {"decoder": [bottom, *above]}
    return inputs | {"params": params, "tgt": np.array([[word if token else 0 for token in tgt]] * 2)}


@repaired_model_loss.cases("the first word", points=1)
def _(draw):
    yield "a begin mark without an embedding", with_one_word(draw, begin=0)


@repaired_model_loss.cases("the first word, after any begin mark", points=1)
def _(draw):
    yield "a begin mark with an embedding", with_one_word(draw, begin=1)


@repaired_model_loss.cases("sources of unequal length", points=1)
def _(draw):
    yield "the source is padded, the target is one word repeated", with_equal_words(draw, [1, 1, 1], padded=True)


@repaired_model_loss.cases("padded targets", points=1)
def _(draw):
    yield "the target is one word repeated, and padding", with_equal_words(draw, [1, 1, 1, 0], padded=False)


@repaired_model_loss.cases("whole batches", points=2)
def _(draw):
    yield "one sentence pair", question(draw, n=1, padded=False)
    yield "a batch", question(draw, (1, 2), padded=False)
    yield "large scores and large logits", steep(question(draw, padded=False))
    yield "the source is padded", question(draw) | {"tgt": targets(draw, 3, 5, padded=False)}
    yield "the target is padded", question(draw) | {"src": sources(draw, 3, 4, padded=False)}
    yield "both are padded", question(draw, (2, 1))
    inputs = renamed(draw, question(draw))
    inputs["tgt"][2, 2] = 0  # a word here
    yield "another padding token", inputs


def buggy(params, src, tgt, n_heads, pad, *, left):
    """Return the model's loss with the named bugs left in."""
    given, asked = tgt[..., :-1], tgt[..., 1:]
    if "shift" in left:
        given, asked = np.roll(tgt.reshape(-1), 1).reshape(tgt.shape), tgt
    memory, _ = reference.encode(params, src, n_heads, pad)
    changed = {"embedded": unscaled} if "scale" in left else {}
    if "memory" in left:
        changed["over_memory"] = lambda *_: EVERYWHERE
    logits, _ = decoded(params, given, memory, src, n_heads, pad, **changed)
    return cross_entropy(logits, asked, -1 if "padding" in left else pad)[0]


def _register_mistake_with(bugs):
    """Add the function that has these bugs to the known mistakes."""

    def wrong(params, src, tgt, n_heads, pad):
        return buggy(params, src, tgt, n_heads, pad, left=bugs)

    n_found = len(BUGS) - len(bugs)
    experiment, section = BUGS[bugs[0]]
    wrong.__name__ = "_".join(bugs) + "_left"
    wrong.__doc__ = f"Found so far: {n_found} of {len(BUGS)}. An experiment for the next: {experiment}"
    repaired_model_loss.mistake(f"{n_found} found, {len(bugs)} to go: {', '.join(bugs)}", reread=section)(wrong)


for has_bug in product((True, False), repeat=len(BUGS)):
    if any(has_bug):
        _register_mistake_with(list(compress(BUGS, has_bug)))


PADS = ("encoder", "target", "memory", "loss")


def padded_by(params, src, tgt, n_heads, pad, *, zero):
    """Return the model's loss with all bugs fixed, except that padding is token 0 for some of PADS."""
    pads = dict.fromkeys(PADS, pad) | dict.fromkeys(zero, 0)
    given, asked = tgt[..., :-1], tgt[..., 1:]
    memory, _ = encoded(params, src, n_heads, pads["encoder"])
    masks = {
        "over_target": lambda tgt, *_: target_mask(tgt, pads["target"]),
        "over_memory": lambda *_: padding_mask(src, pads["memory"]),
    }
    logits, _ = decoded(params, given, memory, src, n_heads, **masks)
    return cross_entropy(logits, asked, pads["loss"])[0]


@repaired_model_loss.mistake("rolls each sentence by itself", reread="Teacher forcing")
def sentences_rolled(params, src, tgt, n_heads, pad):
    """You roll each target by itself, so no token crosses into the next sentence. But now the decoder's input begins
    with the last token of its own sentence, and it must predict the begin mark, too. Slice: the input lacks the last
    token, and the expected target lacks the first."""
    given = np.roll(tgt, 1, axis=1)
    return cross_entropy(reference.forward(params, src, given, n_heads, pad)[0], tgt, pad)[0]


@repaired_model_loss.mistake("divides by all places, padding too", reread="The loss")
def divided_by_all_places(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but padding counts in the number by which you divide. It adds 0 to the sum, so more padding
    makes the loss smaller. Divide by the number of real targets."""
    return buggy(params, src, tgt, n_heads, pad, left=()) * (tgt[:, 1:] != pad).mean()


wrong("pad_is_zero", padded_by, zero=PADS)("""
    fixed, but `pad` is not used -> Writing: the decoder
    The bugs are fixed, but only for a padding token of 0. You do not use `pad`, but here padding has another number.
    Pass it on to the encoder, to both masks of the decoder and to the loss.""")
wrong("encoder_pad_is_zero", padded_by, zero=["encoder"])("""
    fixed, but `pad` does not reach the encoder -> Reading: the encoder
    The bugs are fixed, but the *encoder's* mask takes padding to be token 0, whatever `pad` says. Pass it on.""")
wrong("memory_pad_is_zero", padded_by, zero=["memory"])("""
    fixed, but `pad` does not reach the memory mask -> Writing: the decoder
    The bugs are fixed, but the *memory* mask takes padding to be token 0, whatever `pad` says. Pass it on.""")
wrong("decoder_pad_is_zero", padded_by, zero=["target", "memory"])("""
    fixed, but `pad` does not reach the decoder -> Writing: the decoder
    The bugs are fixed, but both masks of the *decoder* take padding to be token 0, whatever `pad` says. Pass it on to
    `decode`.""")
wrong("loss_pad_is_zero", padded_by, zero=["loss"])("""
    fixed, but `pad` does not reach the loss -> The loss
    The bugs are fixed, but the *loss* takes padding to be token 0, whatever `pad` says, so padding counts and a word
    does not. Pass it on.""")
wrong("model_pad_is_zero", padded_by, zero=["encoder", "target", "memory"])("""
    fixed, but `pad` reaches the loss alone -> The two stacks, joined
    The bugs are fixed, but the *model* takes padding to be token 0, whatever `pad` says; only the loss uses `pad`. Pass
    it on to the encoder and the decoder.""")


@repaired_model_loss.equivalent
def loss_alone(params, src, tgt, n_heads, pad):
    return buggy(params, src, tgt, n_heads, pad, left=())


@repaired_model_loss.equivalent
def loss_of_the_pair(params, src, tgt, n_heads, pad):
    return float(reference.loss_and_gradients(params, src, tgt, n_heads, pad)[0])


@repaired_model_loss.equivalent
def loss_by_sentences(params, src, tgt, n_heads, pad):
    counts = (tgt[:, 1:] != pad).sum(axis=1)
    losses = [buggy(params, s[None], t[None], n_heads, pad, left=()) for s, t in zip(src, tgt, strict=True)]
    return np.average(losses, weights=counts)
