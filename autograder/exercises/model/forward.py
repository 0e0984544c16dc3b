"""forward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.model.decode import prefix_by_prefix
from autograder.exercises.model.shared import decoded, encoded, question
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.logarithms import log_softmax
from solutions.masking import target_mask
from solutions.memory import memory_mask
from solutions.model import table_for, unembed
from solutions.position import positional_embedding

forward = Exercise(
    reference.forward,
    outputs={"logits": "... T_tgt vocab", "cache": UNJUDGED},
    section="The two stacks, joined",
    uses=("encode", "decode"),
)


@forward.cases("the idea", points=1)
def _(draw):
    yield "two layers and one", question(draw, (2, 1), padded=False)
    yield "one layer and two", question(draw, (1, 2), padded=False)


@forward.cases("padding, batches and dtypes", points=1)
def _(draw):
    yield "a padded batch, three tables", question(draw, tied=False)
    inputs = question(draw)
    yield "two batch axes", inputs | {name: np.stack([inputs[name]] * 2) for name in ("src", "tgt")}
    yield "another padding token", inputs | {"pad": int(inputs["src"][0, 1])}
    yield "float32", question(draw, dtype=np.float32)


@forward.mistake("shifts the target")
def shifts_inside(params, src, tgt, n_heads, pad=0):
    """You cut off the last target token here. `forward` gets a target that is already shifted. The loss shifts it,
    because decoding calls the same functions and has nothing to cut off."""
    return reference.forward(params, src, tgt[..., :-1], n_heads, pad)[0], None


@forward.mistake("gives the decoder the embedding, not the memory")
def encoder_skipped(params, src, tgt, n_heads, pad=0):
    """The decoder reads the source's embedding, so the encoder's layers have no effect on the logits, and get no
    gradient."""
    memory, _ = positional_embedding(src, table_for(params["embeddings"], "source"))
    return reference.decode(params, tgt, memory, src, n_heads, pad)[0], None


@forward.mistake("forgets to pass the padding token on")
def pad_not_passed(params, src, tgt, n_heads, pad=0):
    """You do not pass `pad` on, so both halves use their default. Pass it on to both."""
    return reference.forward(params, src, tgt, n_heads)[0], None


@forward.mistake("encodes the target")
def exchanged(params, src, tgt, n_heads, pad=0):
    """Source and target are swapped: the encoder reads what the decoder should write."""
    memory, _ = reference.encode(params, tgt, n_heads, pad)
    return reference.decode(params, src, memory, tgt, n_heads, pad)[0], None


@forward.mistake("lets each decoder layer read the encoder layer beside it")
def layer_by_layer(params, src, tgt, n_heads, pad=0):
    """Decoder layer i reads encoder layer i. In the paper's figure 1 a single arrow leaves the top of the encoder:
    every decoder layer reads the finished memory, and the two stacks need not be equally high."""
    depths = [min(i + 1, len(params["encoder"])) for i in range(len(params["decoder"]))]
    x, _ = positional_embedding(tgt, table_for(params["embeddings"], "target"))
    masks = target_mask(tgt, pad), memory_mask(src, tgt.shape[-1], pad)
    for layer, depth in zip(params["decoder"], depths, strict=True):
        memory, _ = encoded(params, src, n_heads, pad, layers=params["encoder"][:depth])
        x, _ = decoder_layer(x, memory, layer, n_heads, *masks)
    return unembed(x, table_for(params["embeddings"], "output"))[0], None


@forward.mistake("passes the padding token on to the encoder only")
def pad_not_to_decode(params, src, tgt, n_heads, pad=0):
    """`pad` reaches `encode`, but `decode` uses its default. `decode` needs `pad` twice, for the target's padding and
    for the memory's."""
    memory, _ = reference.encode(params, src, n_heads, pad)
    return reference.decode(params, tgt, memory, src, n_heads)


@forward.mistake("passes the padding token on to the decoder only")
def pad_not_to_encode(params, src, tgt, n_heads, pad=0):
    """`pad` reaches `decode`, but `encode` uses its default, so the source's words attend to padding. Pass it on to
    both."""
    memory, _ = reference.encode(params, src, n_heads)
    return reference.decode(params, tgt, memory, src, n_heads, pad)


@forward.mistake("returns probabilities")
def softmaxed(params, src, tgt, n_heads, pad=0):
    """These are probabilities: every row adds up to one. The loss computes a stable log-softmax itself, so `forward`
    returns the logits of `decode`."""
    return np.exp(log_softmax(reference.forward(params, src, tgt, n_heads, pad)[0])), None


@forward.equivalent
def both_by_hand(params, src, tgt, n_heads, pad=0):
    return decoded(params, tgt, encoded(params, src, n_heads, pad)[0], src, n_heads, pad)


@forward.equivalent
def one_prefix_after_another(params, src, tgt, n_heads, pad=0):
    return prefix_by_prefix(params, tgt, encoded(params, src, n_heads, pad)[0], src, n_heads, pad)


@forward.equivalent
def with_a_dict_as_cache(params, src, tgt, n_heads, pad=0):
    logits, cache = reference.forward(params, src, tgt, n_heads, pad)
    return logits, {"everything": cache}
