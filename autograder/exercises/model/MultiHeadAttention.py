import numpy as np
import torch
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.in_pytorch import asked_of
from solutions import model_torch

MultiHeadAttention = Exercise(
    model_torch.MultiHeadAttention, outputs={"output": "... T_query d_model"}, section="The same model in PyTorch"
)
wrong = short_mistakes(MultiHeadAttention)


@MultiHeadAttention.cases("the idea", points=3)
def _(draw):
    T_query, T_key, n = draw.sizes(3)
    inputs = [draw.normal(n, T_query, 12), draw.normal(n, T_key, 12), draw.normal(n, T_key, 12)]
    yield "three heads of width four", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, inputs)


@MultiHeadAttention.cases("masks and no batch axis", points=2)
def _(draw):
    T_query, T_key, n = draw.sizes(3)
    mask = draw.rng.random((n, T_query, T_key)) < 0.6
    mask[..., 0] = True
    inputs = [draw.normal(n, T_query, 12), draw.normal(n, T_key, 12), draw.normal(n, T_key, 12)]
    yield "a mask per sentence", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, [*inputs, mask])
    single = [array[0] for array in inputs]
    yield "one sentence", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, [*single, mask[0]])
    square = [draw.normal(4, 12)] * 3
    causal = np.tri(4, dtype=bool)
    yield "a causal mask", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, [*square, causal])
    row = np.arange(T_key) < T_key - 1
    yield "a mask of one axis", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, [*inputs, row])


HEADS_3 = {"d_model": 12, "n_heads": 3}


def for_all_heads(mask):
    return torch.atleast_2d(mask).unsqueeze(-3)


def attended(module, query, key, value, mask=None, scale=None):
    """Return the merged heads, before the output projection."""
    queries = module.split_heads(module.linear_query(query))
    keys = module.split_heads(module.linear_key(key))
    values = module.split_heads(module.linear_value(value))
    mask = None if mask is None else for_all_heads(mask)
    heads = functional.scaled_dot_product_attention(queries, keys, values, mask, scale=scale)
    return heads.transpose(-2, -3).flatten(-2)


class Masked(model_torch.MultiHeadAttention):
    """The module, with a method that changes the mask."""

    def change(self, mask):
        return mask

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else self.change(mask))


wrong("ViewOnlySplit", Masked, split_heads=lambda self, x: x.reshape(*x.shape[:-2], self.n_heads, x.shape[-2], -1))("""
    splits the heads by a view alone
    A view to (n_heads, T, d_head) cuts the sentence and not the vectors, so each "head" contains a few whole words.
    Split the last axis, then swap two axes.""")
wrong("Interleaved", Masked, split_heads=lambda self, x: x.unflatten(-1, (-1, self.n_heads)).movedim(-1, -3))("""
    interleaves the heads
    Your head h gets every n_heads-th feature. The features of a head should be neighbours: the last axis splits as
    (n_heads, d_head), in that order.""")
wrong("InvertedMask", Masked, change=lambda self, mask: ~mask)("""
    has its mask the wrong way round
    True means "may not attend" here, as in `nn.MultiheadAttention`. In `scaled_dot_product_attention` and in this book,
    True means "may attend".""")
wrong("TransposedMask", Masked, change=lambda self, mask: torch.atleast_2d(mask).mT)("""
    transposes the mask
    You transpose the mask. Its rows are the queries, and its columns are the keys: (T_query, T_key). With as many
    queries as keys the transpose fits, but it hides the wrong keys.""")
wrong("MaskIgnored", Masked, change=lambda self, mask: None)("""
    ignores the mask
    You never use the mask. Pass it to `scaled_dot_product_attention`, with an axis for the heads.""")
wrong("NoOutputProjection", Masked, forward=attended)("""
    leaves out the output projection
    You return the merged heads as they are. You build `linear_output` but never call it, so the heads stay side by side
    and never mix.""")


@MultiHeadAttention.mistake("makes the values from the key")
class ValuesFromKeys(model_torch.MultiHeadAttention):
    """You apply `linear_value` to `key`. In this model the two are always the same tensor, so this makes no difference
    here. But the module has three inputs and must use all of them."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, key, mask)


@MultiHeadAttention.mistake("scales by the root of d_model")
class ScaledByDModel(model_torch.MultiHeadAttention):
    """You divide the scores by the root of d_model. A head's queries and keys are only d_head wide: divide by the root
    of d_head."""

    def forward(self, query, key, value, mask=None):
        return self.linear_output(attended(self, query, key, value, mask, scale=query.shape[-1] ** -0.5))


wrong("MaskOfTwoAxes", Masked, change=lambda self, mask: mask.unsqueeze(-3).squeeze(-3))("""
    takes no mask of one axis
    A mask may have the shape (T_key,), one row for all queries, but `mask.unsqueeze(-3)` needs at least two axes. Add
    an axis in front of such a mask: `torch.atleast_2d(mask)`.""")
wrong("MaskIndexedByAxes", Masked, change=lambda self, mask: mask[..., None, :, :].squeeze(-3))("""
    indexes a mask as if it had an axis for the queries
    `mask[..., None, :, :]` names the mask's last two axes, but a mask (T_key,), one row for all queries, has only one.
    Add an axis in front: `torch.atleast_2d(mask)`.""")


@MultiHeadAttention.equivalent
class BySoftmax(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        queries = self.split_heads(self.linear_query(query))
        keys = self.split_heads(self.linear_key(key))
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~for_all_heads(mask), -float("inf"))
        heads = scores.softmax(-1) @ self.split_heads(self.linear_value(value))
        return self.linear_output(heads.transpose(-2, -3).flatten(-2))


@MultiHeadAttention.equivalent
class HeadByHead(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        parts = zip(
            self.linear_query(query).chunk(self.n_heads, -1),
            self.linear_key(key).chunk(self.n_heads, -1),
            self.linear_value(value).chunk(self.n_heads, -1),
            self.linear_output.weight.chunk(self.n_heads, 1),
            strict=True,
        )
        heads = (functional.scaled_dot_product_attention(q, k, v, mask) @ w.T for q, k, v, w in parts)
        return sum(heads) + self.linear_output.bias


@MultiHeadAttention.equivalent
class WithScaledQueries(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        return self.linear_output(
            attended(self, query, key, value, mask, scale=self.n_heads**0.5 / query.shape[-1] ** 0.5)
        )
