"""Make the runs that chapter 12 asks readers to diagnose: short trainings of a small model by wrong programs.

A run takes less than a tenth of a second. The texts repeat the token before the last one by a code, so that a model has
to look back, and to know how far.
"""

from typing import Any

import numpy as np

from autograder.authoring.diagnoses import NOTHING
from autograder.exercises.dictionary.programs import PROGRAMS, RIGHT, SIZES, model_of
from solutions import definer
from solutions.definer_record import program_record
from solutions.definitions import END, padded
from solutions.training import zero_moments

BUGS = {  # the programs that have the bug; a run has one of them
    NOTHING: (RIGHT,),
    "no mask": ("has no mask",),
    "mask one late": ("sees the next token",),
    "another function": (
        "turns the values too",
        "pairs column i with i + d/2",
        "lets the heads of a group take turns",
    ),
    "no last norm": ("has no last norm",),
    "size of the norm forgotten": ("goes back through the norm without the size",),
    "slope of the gate cut short": ("forgets the second term of the gate's slope",),
    "group averaged": ("averages a group's gradient",),
    "scale forgotten": ("forgets to divide the gradient of the scores",),
    "not turned back": ("turns the gradient forwards", "does not turn the gradient"),
    "losses added up": ("adds up the losses of all tokens",),
    "padding counted": ("counts padding as a target",),
    "gains decay": ("lets the gains decay",),
    "decay in the gradient": ("adds the decay to the gradient",),
}
N_STEPS, BATCH, RATE, WARMUP = 12, 12, 0.01, 4
LENGTHS = range(5, 10)  # of texts
N_HEADS = SIZES["n_heads"]


def run_record(bug: str, rng: np.random.Generator) -> dict[str, Any]:
    """Train a model by a program with a bug of BUGS, and return what the chapter measures; see `program_record`.

    Returns:
        loss: (N_STEPS,), of each batch.
        held_out: (2,), the loss of other texts after the last step, as the program measures it, and as the right one
            does with the same parameters.
        moved, padded, slopes, kept: see `program_record`.
    """
    model = model_of(PROGRAMS[str(rng.choice(BUGS[bug]))])
    follows = rng.permutation(np.arange(END + 1, SIZES["vocab"]))
    params = definer.fresh_definer(rng, **SIZES, dtype=np.float64)
    moments, losses = zero_moments(params), []
    held_out, of_one_length = _texts(rng, follows), _texts(rng, follows, LENGTHS[2:3])
    for step in range(1, N_STEPS + 1):
        rate = RATE * min(1, step / WARMUP)
        params, moments, loss = model.definer_step(params, moments, step, _texts(rng, follows), N_HEADS, rate)
        losses.append(loss)
    record = program_record(vars(model), params, of_one_length, N_HEADS)
    losses_held_out = [_loss(each, params, held_out) for each in (model, definer)]
    return {"loss": np.array(losses), "held_out": np.array(losses_held_out), **record}


def _texts(rng: np.random.Generator, follows: np.ndarray, lengths: range = LENGTHS) -> np.ndarray:
    """Draw a batch of texts. Two tokens are random, and each of the others follows from the one two places before."""
    texts = []
    for length in rng.choice(lengths, BATCH):
        text = rng.choice(follows, 2).tolist()
        while len(text) < length:
            text.append(int(follows[text[-2] - END - 1]))
        texts.append(text)
    return padded(texts)


def _loss(model: Any, params: dict, tokens: np.ndarray) -> float:
    logits, _ = model.definer_forward(params, tokens[:, :-1], N_HEADS)
    return float(model.smoothed_cross_entropy(logits, tokens[:, 1:])[0])
