"""MultiHeadAttention: its cases, its known mistakes and its right rewrites."""

import numpy as np
import torch
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.in_pytorch import asked_of
from solutions import model_torch

MultiHeadAttention = Exercise(
    model_torch.MultiHeadAttention,
    outputs={"output": "... T_query d_model"},
    section="The same model in PyTorch",
)


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


@MultiHeadAttention.mistake("splits the heads by a view alone")
class ViewOnlySplit(model_torch.MultiHeadAttention):
    """A view to (n_heads, T, d_head) cuts the sentence, not the vectors: each "head" then contains a few whole words.
    Split the last axis, and swap two axes."""

    def split_heads(self, x):
        return x.reshape(*x.shape[:-2], self.n_heads, x.shape[-2], -1)


@MultiHeadAttention.mistake("interleaves the heads")
class Interleaved(model_torch.MultiHeadAttention):
    """Your head h gets every n_heads-th feature. The features of a head should be neighbours: the last axis splits as
    (n_heads, d_head), in that order."""

    def split_heads(self, x):
        return x.unflatten(-1, (-1, self.n_heads)).movedim(-1, -3)


@MultiHeadAttention.mistake("has its mask the wrong way round")
class InvertedMask(model_torch.MultiHeadAttention):
    """True means "may not attend" here, as in `nn.MultiheadAttention`. `scaled_dot_product_attention`, and this book,
    mean the opposite."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else ~mask)


@MultiHeadAttention.mistake("transposes the mask")
class TransposedMask(model_torch.MultiHeadAttention):
    """The mask is transposed. Its rows are the queries, its columns the keys: (T_query, T_key). With as many queries as
    keys the transpose fits, but it hides other keys."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else torch.atleast_2d(mask).mT)


@MultiHeadAttention.mistake("ignores the mask")
class MaskIgnored(model_torch.MultiHeadAttention):
    """You take the mask, but never use it. It goes into `scaled_dot_product_attention`, with an axis for the heads."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value)


@MultiHeadAttention.mistake("leaves out the output projection")
class NoOutputProjection(model_torch.MultiHeadAttention):
    """You return the merged heads as they are: `linear_output` is built, but never called, so the heads stay side by
    side and never mix."""

    def forward(self, query, key, value, mask=None):
        return attended(self, query, key, value, mask)


@MultiHeadAttention.mistake("makes the values from the key")
class ValuesFromKeys(model_torch.MultiHeadAttention):
    """`linear_value` is applied to `key`. In this model the two are always the same tensor, so this does not show. But
    the module has three inputs and must use all of them."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, key, mask)


@MultiHeadAttention.mistake("scales by the root of d_model")
class ScaledByDModel(model_torch.MultiHeadAttention):
    """The scores are divided by the root of d_model. A head's queries and keys are only d_head wide: divide by the root
    of d_head."""

    def forward(self, query, key, value, mask=None):
        return self.linear_output(attended(self, query, key, value, mask, scale=query.shape[-1] ** -0.5))


@MultiHeadAttention.mistake("takes no mask of one axis")
class MaskOfTwoAxes(model_torch.MultiHeadAttention):
    """A mask may have the shape (T_key,), one row for all queries, but `mask.unsqueeze(-3)` needs at least two axes.
    Add an axis in front of such a mask: `torch.atleast_2d(mask)`."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else mask.unsqueeze(-3).squeeze(-3))


@MultiHeadAttention.mistake("indexes a mask as if it had an axis for the queries")
class MaskIndexedByAxes(model_torch.MultiHeadAttention):
    """`mask[..., None, :, :]` names the mask's last two axes, but a mask (T_key,), one row for all queries, has only
    one. Add an axis in front: `torch.atleast_2d(mask)`."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else mask[..., None, :, :].squeeze(-3))


def for_all_heads(mask):
    return torch.atleast_2d(mask).unsqueeze(-3)


def attended(module, query, key, value, mask, scale=None):
    """The merged heads, before the output projection."""
    queries = module.split_heads(module.linear_query(query))
    keys = module.split_heads(module.linear_key(key))
    values = module.split_heads(module.linear_value(value))
    mask = None if mask is None else for_all_heads(mask)
    heads = functional.scaled_dot_product_attention(queries, keys, values, mask, scale=scale)
    return heads.transpose(-2, -3).flatten(-2)


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
