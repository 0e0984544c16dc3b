import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.decode import prefix_by_prefix
from autograder.exercises.model.shared import decoded, encoded, question, well_conditioned
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.masking import padding_mask, target_mask
from solutions.model import table_for, unembed
from solutions.position import positional_embedding

forward = Exercise(
    reference.forward, outputs={"logits": "... T_tgt vocab", "cache": UNJUDGED}, section="The two stacks, joined"
)
wrong = short_mistakes(forward)


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
    yield "float32", well_conditioned(reference.forward, lambda: question(draw, dtype=np.float32))


@forward.mistake("shifts the target")
def shifts_inside(params, src, tgt, n_heads, pad=0):
    """You cut off the last target token here. `forward` gets a target that is already shifted. The loss function shifts
    it, because decoding also calls these functions and has nothing to cut off."""
    return reference.forward(params, src, tgt[..., :-1], n_heads, pad)[0], None


def joined(
    params, src, tgt, n_heads, pad=0, *,
    encode=lambda params, src, tgt, n_heads, pad: reference.encode(params, src, n_heads, pad)[0],
    decode=reference.decode,
):  # fmt: skip
    """Run the model with another encoder or decoder."""
    memory = encode(params, src, tgt, n_heads, pad)
    return decode(params, tgt, memory, src, n_heads, pad)[0], None


wrong(
    "encoder_skipped",
    joined,
    encode=lambda params, src, *_: positional_embedding(src, table_for(params["embeddings"], "source"))[0],
)("""
    gives the decoder the embedding, not the memory
    The decoder reads the source's embedding, so the encoder's layers have no effect on the logits and get no gradient.
    Pass it the output of `encode`.""")
wrong(
    "pad_not_passed", lambda params, src, tgt, n_heads, pad=0: (reference.forward(params, src, tgt, n_heads)[0], None)
)("""
    forgets to pass the padding token on
    You do not pass `pad` on, so both halves use their default. Pass it on to both.""")


@forward.mistake("encodes the target")
def exchanged(params, src, tgt, n_heads, pad=0):
    """Source and target are swapped: the encoder reads what the decoder should write."""
    memory, _ = reference.encode(params, tgt, n_heads, pad)
    return reference.decode(params, src, memory, tgt, n_heads, pad)[0], None


@forward.mistake("lets each decoder layer read the encoder layer beside it")
def layer_by_layer(params, src, tgt, n_heads, pad=0):
    """Decoder layer i reads encoder layer i. In the paper's figure 1 a single arrow leaves the top of the encoder:
    every decoder layer reads the finished memory, and the two stacks need not have equally many layers."""
    depths = [min(i + 1, len(params["encoder"])) for i in range(len(params["decoder"]))]
    x, _ = positional_embedding(tgt, table_for(params["embeddings"], "target"))
    masks = target_mask(tgt, pad), padding_mask(src, pad)
    for layer, depth in zip(params["decoder"], depths, strict=True):
        memory, _ = encoded(params | {"encoder": params["encoder"][:depth]}, src, n_heads, pad)
        x, _ = decoder_layer(x, memory, layer, n_heads, *masks)
    return unembed(x, table_for(params["embeddings"], "output"))[0], None


wrong(
    "pad_not_to_decode",
    joined,
    decode=lambda params, tgt, memory, src, n_heads, pad: reference.decode(params, tgt, memory, src, n_heads),
)("""
    passes the padding token on to the encoder only
    `pad` reaches `encode`, but `decode` uses its default. `decode` needs `pad` twice, for the target's padding and for
    the memory's.""")
wrong(
    "pad_not_to_encode", joined, encode=lambda params, src, tgt, n_heads, pad: reference.encode(params, src, n_heads)[0]
)("""
    passes the padding token on to the decoder only
    `pad` reaches `decode`, but `encode` uses its default, so the source's words attend to padding. Pass it on to
    both.""")


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
