"""Chapter 8, the same model as PyTorch modules, with the names of the NumPy parameters.

Masks are boolean, True = may attend, as in `scaled_dot_product_attention` (`nn.MultiheadAttention` means the opposite).
"""

import torch
from torch import nn
from torch.nn import functional


class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend, merge, project.

    Args:
        d_model: width of inputs and output.
        n_heads: a divisor of d_model.

    Called with query (..., T_query, d_model), key and value (..., T_key,
    d_model), and a boolean mask, True = may attend, that is None or
    broadcasts to (..., T_query, T_key); returns (..., T_query, d_model).
    Works without batch axes, too.

    Parameters: linear_query, linear_key, linear_value and linear_output,
    each an nn.Linear(d_model, d_model).

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.linear_query = nn.Linear(d_model, d_model)
        self.linear_key = nn.Linear(d_model, d_model)
        self.linear_value = nn.Linear(d_model, d_model)
        self.linear_output = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        queries = self.split_heads(self.linear_query(query))
        keys = self.split_heads(self.linear_key(key))
        values = self.split_heads(self.linear_value(value))
        if mask is not None:
            mask = torch.atleast_2d(mask).unsqueeze(-3)
        attended = functional.scaled_dot_product_attention(queries, keys, values, mask)
        return self.linear_output(attended.transpose(-2, -3).flatten(-2))

    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(-2, -3)


class FeedForward(nn.Module):
    """Widen to d_ff, keep what is positive, narrow again: (..., d_model) to (..., d_model)."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear_in = nn.Linear(d_model, d_ff)
        self.linear_out = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear_out(self.linear_in(x).relu())


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward, each with dropout and "Add & Norm".

    Args:
        d_model, n_heads: see `MultiHeadAttention`.
        d_ff: width of the feed-forward.
        dropout: rate, from 0 to 1.

    Called with x (..., T, d_model) and a mask that is None or broadcasts
    to (..., T, T); returns (..., T, d_model).

    Parameters: attention (a MultiHeadAttention), norm_attention and
    norm_feed_forward (nn.LayerNorm), and feed_forward, a module with
    linear_in and linear_out (nn.Linear).

    Source: Vaswani et al. 2017, sections 3.1 and 5.4 (post-norm).
    """

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm_attention = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_feed_forward = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x)))


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward: three sub-layers.

    Each is followed by dropout and "Add & Norm".

    Args:
        d_model, n_heads, d_ff, dropout: see `EncoderLayer`.

    Called with x (..., T, d_model), memory (..., T_memory, d_model), and
    masks that are None or broadcast to (..., T, T) and
    (..., T, T_memory); returns (..., T, d_model).

    Parameters: those of `EncoderLayer`, and cross_attention (a
    MultiHeadAttention) and norm_cross_attention (nn.LayerNorm).

    Source: Vaswani et al. 2017, sections 3.1 and 5.4 (post-norm).
    """

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm_attention = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm_cross_attention = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_feed_forward = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, self_mask)))
        x = self.norm_cross_attention(x + self.dropout(self.cross_attention(x, memory, memory, memory_mask)))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x)))


def torch_name(path):
    """The name of a NumPy parameter in the modules: "attention.w_query" is "attention.linear_query.weight"."""
    *branches, leaf = path.split(".")
    kind, _, name = leaf.partition("_")
    if branches and branches[0] == "embeddings":
        return f"{path}.weight"
    if name:
        leaf = f"linear_{name}.{'weight' if kind == 'w' else 'bias'}"
    return ".".join([*branches, "weight" if leaf == "gain" else leaf])


def is_transposed(path):
    """Whether PyTorch keeps this parameter as (d_out, d_in), to compute x weight^T."""
    return path.rpartition(".")[2].startswith("w_")


def load_parameters(module, arrays):
    """Copy NumPy parameters into a module.

    Args:
        module: any of the modules above.
        arrays: dict of path -> array, as `parameters.named` returns it for the same part of the model.
    """
    tensors = {
        torch_name(path): torch.tensor(array.T if is_transposed(path) else array) for path, array in arrays.items()
    }
    module.load_state_dict(tensors)


def read_gradients(module, paths):
    """The gradients of a module after `backward()`, as dict of path -> array, in NumPy's layout."""
    parameters = dict(module.named_parameters())
    gradients = {path: parameters[torch_name(path)].grad.numpy() for path in paths}
    return {path: gradient.T if is_transposed(path) else gradient for path, gradient in gradients.items()}
