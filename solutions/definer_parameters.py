"""The parameters of chapter 12's model before training. Given.

They are in a file of their own because a bundle contains the modules that its chapter imports, and the other functions
of the model call the chapter's solutions.
"""

import math

import numpy as np

SIZES = {"vocab": 1024, "d_model": 64, "d_ff": 160, "n_layers": 3, "n_heads": 4, "n_groups": 2}


def fresh_definer(rng, vocab, d_model, d_ff, n_layers, n_heads, n_groups, dtype=np.float32):
    """Draw the parameters of a whole model.

    Args:
        rng: np.random.Generator
        vocab: number of tokens.
        d_model, d_ff: width of the rows, and of the feed-forward layer.
        n_layers, n_heads, n_groups: number of layers; of heads and of groups in each.

    Returns:
        params: {"table": (vocab, d_model), "layers": [layer, ...], "norm": (d_model,)}, each layer as `modern_layer`
            takes it. Matrices are normal with variance 1 / (3 n_in). What writes into the stream is smaller by the root
            of the number of sub-layers, so that the stream does not grow with the depth. Gains are 1, and the table
            has a standard deviation of 0.02.
    """
    width = n_groups * (d_model // n_heads)

    def matrix(n_in, n_out, times=1.0):
        return (times * rng.normal(size=(n_in, n_out)) / math.sqrt(3 * n_in)).astype(dtype)

    def layer():
        less = 1 / math.sqrt(2 * n_layers)
        return {
            "norm_attention": np.ones(d_model, dtype),
            "attention": {
                "w_query": matrix(d_model, d_model),
                "w_key": matrix(d_model, width),
                "w_value": matrix(d_model, width),
                "w_output": matrix(d_model, d_model, less),
            },
            "norm_feed_forward": np.ones(d_model, dtype),
            "feed_forward": {
                "w_gate": matrix(d_model, d_ff),
                "w_up": matrix(d_model, d_ff),
                "w_down": matrix(d_ff, d_model, less),
            },
        }

    table = (0.02 * rng.normal(size=(vocab, d_model))).astype(dtype)
    return {"table": table, "layers": [layer() for _ in range(n_layers)], "norm": np.ones(d_model, dtype)}
