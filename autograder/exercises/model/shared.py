"""What the exercises of chapter 8 share: models and sentences to draw, and both stacks with exchangeable parts."""

import numpy as np

from solutions.cross import decoder_layer
from solutions.masking import padding_mask, target_mask
from solutions.memory import memory_mask
from solutions.model import forward, table_for, unembed
from solutions.multihead import split_heads
from solutions.parameters import initialise, map_tree
from solutions.position import positional_embedding, sinusoidal_encoding
from solutions.residual import encoder_layer

N_HEADS = 2
SPECIAL = 3  # padding, begin mark, end mark
EVERYWHERE = np.ones((1, 1), bool)  # a mask that hides nothing


def weights(draw, layers=(1, 1), tied=True, dtype=np.float64, sharp=False):
    """A small model of which no number is 0 or 1, as fresh norms and biases would hide mistakes."""
    vocab, other = draw.sizes(2, low=9, high=12)
    vocabularies = {"shared": vocab} if tied else {"source": other, "target": vocab, "output": vocab}
    d_model, d_ff = 4, draw.size(5, 8)
    params = initialise(draw.rng, vocabularies, d_model, d_ff, *layers)
    params = map_tree(lambda array: (array + 0.3 * draw.normal(*array.shape)).astype(dtype), params)
    if sharp:
        # Sure of itself, so that the best token is far from the second, and moved by the position above all.
        tables = params["embeddings"]
        params["embeddings"] = tables | {"target": 0.3 * tables["target"], "output": 5 * tables["output"]}
    return params


def with_one_table_of_its_own(inputs, role):
    """Return inputs of a model with three tables, changed so that only this role keeps its own; the others share."""
    tables = inputs["params"]["embeddings"]
    shared = tables["target" if role == "output" else "output"]
    return inputs | {"params": inputs["params"] | {"embeddings": {role: tables[role], "shared": shared}}}


def tables_replaced_by_the_shared_one(params):
    """Return params in which the shared table, if there is one, is the table of all roles."""
    tables = params["embeddings"]
    return params | {"embeddings": {"shared": tables["shared"]} if "shared" in tables else tables}


def sources(draw, n=3, T=5, padded=True):
    """Source tokens; the second sentence ends early if `padded`."""
    src = draw.tokens(n, T, vocab=9, low=SPECIAL)
    if padded:
        src[1, T // 2 :] = 0
    return src


def targets(draw, n=3, T=6, padded=True):
    """Target tokens between begin and end mark; the first sentence ends early if `padded`."""
    tgt = draw.tokens(n, T, vocab=9, low=SPECIAL)
    tgt[:, 0], tgt[:, -1] = 1, 2
    if padded:
        tgt[0, T - 3 :] = [2, 0, 0]
    return tgt


def question(draw, layers=(1, 1), tied=True, dtype=np.float64, n=3, padded=True):
    """Everything that the model as a whole is called with."""
    params = weights(draw, layers, tied, dtype)
    T_src, T_tgt = draw.sizes(2, low=4, high=8)
    return {
        "params": params,
        "src": sources(draw, n, T_src, padded),
        "tgt": targets(draw, n, T_tgt, padded),
        "n_heads": N_HEADS,
        "pad": 0,
    }


def steep(inputs, height=100_000):
    """The question, to a model whose first attention has scores, and whose output has logits, of about `height`.

    The maxima of different rows are then so far apart that one maximum for several rows underflows.
    """
    params, n_heads = inputs["params"], inputs["n_heads"]
    x, _ = positional_embedding(inputs["src"], table_for(params["embeddings"], "source"))
    first, *encoder = params["encoder"]
    attention = first["attention"]
    queries, keys = (
        split_heads(x @ attention[f"w_{name}"] + attention[f"b_{name}"], n_heads) for name in ("query", "key")
    )
    scores = queries @ keys.swapaxes(-1, -2)
    factor = height / scores.flat[np.abs(scores).argmax()]
    attention = attention | {name: factor * attention[name] for name in ("w_query", "b_query")}
    logits, _ = forward(params, inputs["src"], inputs["tgt"], n_heads, inputs["pad"])
    *decoder, last = params["decoder"]
    factor = height / logits.flat[np.abs(logits).argmax()]
    norm = {name: factor * array for name, array in last["norm_feed_forward"].items()}
    encoder = [first | {"attention": attention}, *encoder]
    decoder = [*decoder, last | {"norm_feed_forward": norm}]
    return inputs | {"params": params | {"encoder": encoder, "decoder": decoder}}


def only(inputs, *names):
    return {name: inputs[name] for name in names}


def encoded(params, src, n_heads, pad, *, x=None, mask=None, layers=None):
    """The encoder with any of its parts exchanged."""
    x = positional_embedding(src, table_for(params["embeddings"], "source"))[0] if x is None else x
    mask = padding_mask(src, pad) if mask is None else mask
    for layer in params["encoder"] if layers is None else layers:
        x, _ = encoder_layer(x, layer, n_heads, mask)
    return x, None


def unscaled(tokens, table):
    return table[tokens] + sinusoidal_encoding(tokens.shape[-1], table.shape[1]).astype(table.dtype)


def decoded(params, tgt, memory, src, n_heads, pad, *, x=None, over_target=None, over_memory=None, layers=None):
    """The decoder with any of its parts exchanged; returns logits and layer caches."""
    embeddings = params["embeddings"]
    x = positional_embedding(tgt, table_for(embeddings, "target"))[0] if x is None else x
    over_target = target_mask(tgt, pad) if over_target is None else over_target
    over_memory = memory_mask(src, tgt.shape[-1], pad) if over_memory is None else over_memory
    for layer in params["decoder"] if layers is None else layers:
        x, _ = decoder_layer(x, memory, layer, n_heads, over_target, over_memory)
    return unembed(x, table_for(embeddings, "output"))[0], None


MARKS = {"bos": 1, "eos": 2, "pad": 0}


def renamed(draw, inputs):
    """The same question in other numbers: padding, begin and end mark change places with three words."""
    new = np.arange(9)
    words = SPECIAL + draw.rng.permutation(9 - SPECIAL)[:SPECIAL]
    new[:SPECIAL], new[words] = words, np.arange(SPECIAL)
    tables = {name: np.concatenate([table[new], table[9:]]) for name, table in inputs["params"]["embeddings"].items()}
    tokens = {name: new[inputs[name]] for name in ("src", "tgt") if name in inputs}
    marks = {name: int(new[mark]) for name, mark in MARKS.items() if name in inputs}
    return inputs | {"params": inputs["params"] | {"embeddings": tables}} | tokens | marks


def sure(draw, n, ends, layers=(1, 2)):
    """A model and sources for which some sentences end early: `ends` times as eager to write the end mark."""
    params = weights(draw, layers, tied=False, sharp=True)
    tables = params["embeddings"]
    output = tables["output"].copy()
    output[2] *= ends
    return {
        "params": params | {"embeddings": tables | {"output": output}},
        "src": sources(draw, n, draw.size(4, 7)),
        "n_heads": N_HEADS,
    }
