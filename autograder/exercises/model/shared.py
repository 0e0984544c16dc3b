"""Draw models and sentences, and run both stacks with some parts replaced, for the exercises of chapter 8."""

import numpy as np

from check.comparing import allowed_error
from solutions.cross import decoder_layer
from solutions.masking import padding_mask, target_mask
from solutions.model import forward, table_for, unembed
from solutions.multihead import split_heads
from solutions.parameters import initialise, map_tree
from solutions.position import positional_embedding, sinusoidal_encoding
from solutions.residual import encoder_layer

N_HEADS = 2
SPECIAL = 3  # padding, begin mark, end mark
EVERYWHERE = np.ones((1, 1), bool)  # a mask that hides nothing


def weights(draw, layers=(1, 1), tied=True, dtype=np.float64, sharp=False):
    """Draw a small model without the zeros and ones of fresh norms and biases, which would hide mistakes."""
    vocab, other = draw.sizes(2, low=9, high=12)
    vocabularies = {"shared": vocab} if tied else {"source": other, "target": vocab, "output": vocab}
    d_model, d_ff = 4, draw.size(5, 8)
    params = initialise(draw.rng, vocabularies, d_model, d_ff, *layers)
    params = map_tree(lambda array: (array + 0.3 * draw.normal(*array.shape)).astype(dtype), params)
    if sharp:
        # The best token is far ahead of the second, and depends mostly on the position.
        tables = params["embeddings"]
        params["embeddings"] = tables | {"target": 0.3 * tables["target"], "output": 5 * tables["output"]}
    return params


def with_one_table_of_its_own(inputs, role):
    """Return inputs of a model with three tables, changed so that only this role keeps its own table and the others
    share one."""
    tables = inputs["params"]["embeddings"]
    shared = tables["target" if role == "output" else "output"]
    return inputs | {"params": inputs["params"] | {"embeddings": {role: tables[role], "shared": shared}}}


def tables_replaced_by_the_shared_one(params):
    """Return params in which the shared table, if there is one, is the table of all roles."""
    tables = params["embeddings"]
    return params | {"embeddings": {"shared": tables["shared"]} if "shared" in tables else tables}


def sources(draw, n=3, T=5, padded=True):
    """Draw source tokens; the second sentence ends early if `padded`."""
    src = draw.tokens(n, T, vocab=9, low=SPECIAL)
    if padded:
        src[1, T // 2 :] = 0
    return src


def targets(draw, n=3, T=6, padded=True):
    """Draw target tokens between begin and end mark; the first sentence ends early if `padded`."""
    tgt = draw.tokens(n, T, vocab=9, low=SPECIAL)
    tgt[:, 0], tgt[:, -1] = 1, 2
    if padded:
        tgt[0, T - 3 :] = [2, 0, 0]
    return tgt


def question(draw, layers=(1, 1), tied=True, dtype=np.float64, n=3, padded=True):
    """Draw all arguments of the whole model."""
    params = weights(draw, layers, tied, dtype)
    T_src, T_tgt = draw.sizes(2, low=4, high=8)
    return {
        "params": params,
        "src": sources(draw, n, T_src, padded),
        "tgt": targets(draw, n, T_tgt, padded),
        "n_heads": N_HEADS,
        "pad": 0,
    }


def well_conditioned(function, draw_inputs):
    """Draw inputs in float32 until rounding moves the function's first output by at most a tenth of what is allowed.

    In 1 of 2,000 keys, a norm divided by almost 0, and the key rejected functions that add in a different order.
    """
    while True:
        inputs = draw_inputs()
        output, in_float64 = function(**inputs)[0], function(**widened(inputs))[0]
        allowed = allowed_error(output) / 10 * np.abs(in_float64).max()
        if np.abs(output - in_float64).max() <= allowed:
            return inputs


def widened(inputs):
    """Return the inputs with float64 instead of float32."""

    def wide(array):
        return array.astype(np.float64) if array.dtype == np.float32 else array

    is_tree = {name: isinstance(value, dict | np.ndarray) for name, value in inputs.items()}
    return {name: map_tree(wide, value) if is_tree[name] else value for name, value in inputs.items()}


def steep(inputs, height=100_000):
    """Return the inputs with a model whose scores in the first attention, and whose logits, are about `height`.

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


def positioned(tokens, table):
    return positional_embedding(tokens, table)[0]


def all_of_them(layers):
    return layers


def encoded(params, src, n_heads, pad=0, *, role="source", embedded=positioned, mask=padding_mask, layers=all_of_them):
    """Run the encoder with some of its parts replaced: functions of the tokens and the table, of the tokens and the
    padding token, and of the layers."""
    x = embedded(src, table_for(params["embeddings"], role))
    for layer in layers(params["encoder"]):
        x, _ = encoder_layer(x, layer, n_heads, mask(src, pad))
    return x, None


def unscaled(tokens, table):
    return table[tokens] + sinusoidal_encoding(tokens.shape[-1], table.shape[1]).astype(table.dtype)


def causal(tokens, k=0):
    return np.tri(tokens.shape[-1], k=k, dtype=bool)


def decoded(
    params, tgt, memory, src, n_heads, pad=0, *,
    embedded=positioned, over_target=lambda tgt, src, pad: target_mask(tgt, pad),
    over_memory=lambda tgt, src, pad: padding_mask(src, pad), layers=all_of_them, role="output",
    then=lambda logits, width: logits,
):  # fmt: skip
    """Run the decoder with some of its parts replaced, and return logits. The masks are functions of both sequences and
    the padding token."""
    x = embedded(tgt, table_for(params["embeddings"], "target"))
    masks = over_target(tgt, src, pad), over_memory(tgt, src, pad)
    for layer in layers(params["decoder"]):
        x, _ = decoder_layer(x, memory, layer, n_heads, *masks)
    logits, _ = unembed(x, table_for(params["embeddings"], role))
    return then(logits, x.shape[-1]), None


MARKS = {"bos": 1, "eos": 2, "pad": 0}


def renamed(draw, inputs):
    """Renumber the tokens: padding, begin and end mark swap their numbers with three words."""
    new = np.arange(9)
    words = SPECIAL + draw.rng.permutation(9 - SPECIAL)[:SPECIAL]
    new[:SPECIAL], new[words] = words, np.arange(SPECIAL)
    tables = {name: np.concatenate([table[new], table[9:]]) for name, table in inputs["params"]["embeddings"].items()}
    tokens = {name: new[inputs[name]] for name in ("src", "tgt") if name in inputs}
    marks = {name: int(new[mark]) for name, mark in MARKS.items() if name in inputs}
    return inputs | {"params": inputs["params"] | {"embeddings": tables}} | tokens | marks


def sure(draw, n, ends, layers=(1, 2)):
    """Draw a model and sources for which some sentences end early; `ends` multiplies the logits of the end mark."""
    params = weights(draw, layers, tied=False, sharp=True)
    tables = params["embeddings"]
    output = tables["output"].copy()
    output[2] *= ends
    return {
        "params": params | {"embeddings": tables | {"output": output}},
        "src": sources(draw, n, draw.size(4, 7)),
        "n_heads": N_HEADS,
    }
