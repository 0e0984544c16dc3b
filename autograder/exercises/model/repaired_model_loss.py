"""repaired_model_loss: its cases, its known mistakes and its right rewrites."""

from itertools import compress, product

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.shared import (
    EVERYWHERE,
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
from solutions.masking import target_mask
from solutions.memory import memory_mask
from solutions.model import cross_entropy

repaired_model_loss = Exercise(
    reference.repaired_model_loss,
    outputs={"loss": ""},
    section="Find the bug",
    solved_by=["loss_and_gradients"],
)
# Name of each bug -> what is wrong, and the section to reread.
BUGS = {
    "shift": (
        "the target is rolled over the flattened batch, so tokens cross from one sentence into the next.",
        "Teacher forcing",
    ),
    "scale": ("one of the two embeddings is not scaled by the root of d_model.", "Reading: the encoder"),
    "memory": ("the decoder attends to the memory of padding.", "Writing: the decoder"),
    "padding": ("padding counts in the loss as if it were a word.", "The loss"),
}


@repaired_model_loss.cases("no padding", points=2)
def _(draw):
    yield "one sentence pair", question(draw, n=1, padded=False)
    yield "a batch", question(draw, (1, 2), padded=False)
    yield "large scores and large logits", steep(question(draw, padded=False))


@repaired_model_loss.cases("sources of unequal length", points=2)
def _(draw):
    inputs = question(draw)
    yield "the source is padded", inputs | {"tgt": targets(draw, 3, 5, padded=False)}


@repaired_model_loss.cases("targets of unequal length", points=2)
def _(draw):
    inputs = question(draw)
    yield "the target is padded", inputs | {"src": sources(draw, 3, 4, padded=False)}
    yield "both are padded", question(draw, (2, 1))
    inputs = renamed(draw, question(draw))
    inputs["tgt"][2, 2] = 0  # a word here
    yield "another padding token", inputs


def buggy(params, src, tgt, n_heads, pad, *, left):
    """The model's loss with the named bugs left in."""
    table = params["embeddings"]["shared"]
    given, asked = tgt[..., :-1], tgt[..., 1:]
    if "shift" in left:
        given, asked = np.roll(tgt.reshape(-1), 1).reshape(tgt.shape), tgt
    memory, _ = reference.encode(params, src, n_heads, pad)
    changed = {"x": unscaled(given, table)} if "scale" in left else {}
    if "memory" in left:
        changed["over_memory"] = EVERYWHERE
    logits, _ = decoded(params, given, memory, src, n_heads, pad, **changed)
    return cross_entropy(logits, asked, -1 if "padding" in left else pad)[0]


def _register_mistake_with(bugs):
    """Add the function that has these bugs to the known mistakes."""

    def wrong(params, src, tgt, n_heads, pad):
        return buggy(params, src, tgt, n_heads, pad, left=bugs)

    n_found = len(BUGS) - len(bugs)
    explanation, section = BUGS[bugs[0]]
    wrong.__name__ = "_".join(bugs) + "_left"
    wrong.__doc__ = f"Found so far: {n_found} of {len(BUGS)}. Next: {explanation}"
    repaired_model_loss.mistake(f"{n_found} found, {len(bugs)} to go: {', '.join(bugs)}", reread=section)(wrong)


for has_bug in product((True, False), repeat=len(BUGS)):
    if any(has_bug):
        _register_mistake_with(list(compress(BUGS, has_bug)))


PADS = ("encoder", "target", "memory", "loss")


def padded_by(params, src, tgt, n_heads, **pads):
    """The model's loss, with all bugs fixed and a padding token of its own for each of PADS."""
    given, asked = tgt[..., :-1], tgt[..., 1:]
    memory, _ = encoded(params, src, n_heads, pads["encoder"])
    masks = {"over_target": target_mask(given, pads["target"])}
    masks |= {"over_memory": memory_mask(src, given.shape[-1], pads["memory"])}
    logits, _ = decoded(params, given, memory, src, n_heads, None, **masks)
    return cross_entropy(logits, asked, pads["loss"])[0]


@repaired_model_loss.mistake("rolls each sentence by itself", reread="Teacher forcing")
def sentences_rolled(params, src, tgt, n_heads, pad):
    """You roll each target by itself, so no token crosses into the next sentence. But now the decoder's input begins
    with the last token of its own sentence, and the begin mark has to be predicted, too. Slice: the input lacks the
    last token, and the expected target lacks the first."""
    given = np.roll(tgt, 1, axis=1)
    return cross_entropy(reference.forward(params, src, given, n_heads, pad)[0], tgt, pad)[0]


@repaired_model_loss.mistake("divides by all places, padding too", reread="The loss")
def divided_by_all_places(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but padding counts in the number by which you divide. It adds 0 to the sum, so more padding
    makes the loss smaller. Divide by the number of real targets."""
    return buggy(params, src, tgt, n_heads, pad, left=()) * (tgt[:, 1:] != pad).mean()


@repaired_model_loss.mistake("fixed, but `pad` is not used", reread="Writing: the decoder")
def pad_is_zero(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but only for a padding token of 0: `pad` is not used, but here padding has another number.
    Pass it on to the encoder, to both masks of the decoder and to the loss."""
    return padded_by(params, src, tgt, n_heads, **dict.fromkeys(PADS, 0))


@repaired_model_loss.mistake("fixed, but `pad` does not reach the encoder", reread="Reading: the encoder")
def encoder_pad_is_zero(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but the *encoder's* mask takes padding to be token 0, whatever `pad` says. Pass it on."""
    return padded_by(params, src, tgt, n_heads, **dict.fromkeys(PADS, pad) | {"encoder": 0})


@repaired_model_loss.mistake("fixed, but `pad` does not reach the memory mask", reread="Writing: the decoder")
def memory_pad_is_zero(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but the *memory* mask takes padding to be token 0, whatever `pad` says. Pass it on."""
    return padded_by(params, src, tgt, n_heads, **dict.fromkeys(PADS, pad) | {"memory": 0})


@repaired_model_loss.mistake("fixed, but `pad` does not reach the decoder", reread="Writing: the decoder")
def decoder_pad_is_zero(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but both masks of the *decoder* take padding to be token 0, whatever `pad` says. Pass it on
    to `decode`."""
    return padded_by(params, src, tgt, n_heads, **dict.fromkeys(PADS, pad) | {"target": 0, "memory": 0})


@repaired_model_loss.mistake("fixed, but `pad` does not reach the loss", reread="The loss")
def loss_pad_is_zero(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but the *loss* takes padding to be token 0, whatever `pad` says, so padding counts, and a
    word does not. Pass it on."""
    return padded_by(params, src, tgt, n_heads, **dict.fromkeys(PADS, pad) | {"loss": 0})


@repaired_model_loss.mistake("fixed, but `pad` reaches the loss alone", reread="The two stacks, joined")
def model_pad_is_zero(params, src, tgt, n_heads, pad):
    """The bugs are fixed, but the *model* takes padding to be token 0, whatever `pad` says; only the loss uses `pad`.
    Pass it on to the encoder and the decoder."""
    return padded_by(params, src, tgt, n_heads, **dict.fromkeys(PADS, 0) | {"loss": pad})


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
