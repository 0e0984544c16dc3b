"""Transformer: its cases, its known mistakes and its right rewrites."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.shared import LAYER, asked_of, sources, targets
from solutions import model_torch
from solutions.position import sinusoidal_encoding

Transformer = Exercise(
    model_torch.Transformer,
    outputs={"logits": "... T_tgt vocab"},
    section="The same model in PyTorch",
    uses=("MultiHeadAttention", "EncoderLayer", "DecoderLayer"),
)


def whole(draw, layers, vocabularies, padded=True):
    arguments = LAYER | {"vocabularies": vocabularies, "n_encoder": layers[0], "n_decoder": layers[1]}
    T_src, T_tgt = draw.sizes(2, low=4, high=8)
    inputs = [sources(draw, 3, T_src, padded), targets(draw, 3, T_tgt, padded)]
    return asked_of(model_torch.Transformer, draw, arguments, inputs)


@Transformer.cases("the idea", points=2)
def _(draw):
    yield "one shared table", whole(draw, (1, 1), {"shared": 9}, padded=False)
    yield "two layers and one", whole(draw, (2, 1), {"shared": 10}, padded=False)


@Transformer.cases("padding", points=1)
def _(draw):
    yield "a padded batch", whole(draw, (1, 2), {"shared": 9})
    inputs = whole(draw, (1, 1), {"shared": 9})
    inputs["inputs"][1][:, 1] = 0
    yield "padding in the middle", inputs
    inputs = whole(draw, (1, 1), {"shared": 9})
    swapped = np.array([5, 1, 2, 3, 4, 0, 6, 7, 8])
    inputs["inputs"] = [swapped[tokens] for tokens in inputs["inputs"]]
    inputs["inputs"][1][2, 2] = 0  # a word here
    yield "another padding token", inputs | {"arguments": inputs["arguments"] | {"pad": 5}}


@Transformer.cases("tables of their own", points=1)
def _(draw):
    yield "three tables", whole(draw, (1, 1), {"source": 10, "target": 11, "output": 9})


@Transformer.mistake("has no causal mask")
class ModelWithoutCausalMask(model_torch.Transformer):
    """Every position of the target sees those after it. Its mask is causal and padding in one: & joins them."""

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.table("target"))
        for layer in self.decoder:
            x = layer(x, memory, self.padding_mask(tgt), self.padding_mask(src))
        return functional.linear(x, self.table("output").weight)


@Transformer.mistake("has no memory mask")
class ModelWithoutMemoryMask(model_torch.Transformer):
    """The decoder layers are not told which source tokens are padding."""

    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, 1 + 0 * src)


@Transformer.mistake("does not scale the target's embedding")
class ModelWithoutTargetScale(model_torch.Transformer):
    """The source's embedding is multiplied by the root of d_model, the target's is not."""

    def decode(self, tgt, memory, src):
        self.unscaled = True
        return super().decode(tgt, memory, src)

    def embed(self, tokens, table):
        x = super().embed(tokens, table)
        return x - table(tokens) * (table.embedding_dim**0.5 - 1) if getattr(self, "unscaled", False) else x


@Transformer.mistake("scales neither embedding")
class ModelWithoutScale(model_torch.Transformer):
    """The embeddings are not multiplied by the root of d_model."""

    def embed(self, tokens, table):
        return super().embed(tokens, table) - table(tokens) * (table.embedding_dim**0.5 - 1)


@Transformer.mistake("adds no positions")
class ModelWithoutPositions(model_torch.Transformer):
    """The embeddings enter without their positions: the model cannot tell one order of words from another."""

    def embed(self, tokens, table):
        return table(tokens) * table.embedding_dim**0.5


@Transformer.mistake("has a final norm on each stack", reread="What nn.Transformer adds")
class ModelWithFinalNorms(model_torch.Transformer):
    """There is a layer norm too many after the last layer of each stack. `nn.Transformer` has them; the paper's post-
    norm model ends on a norm already."""

    def encode(self, src):
        return functional.layer_norm(super().encode(src), (8,))

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.table("target"))
        causal = torch.ones(tgt.shape[-1], tgt.shape[-1], dtype=torch.bool).tril()
        for layer in self.decoder:
            x = layer(x, memory, causal & self.padding_mask(tgt), self.padding_mask(src))
        return functional.linear(functional.layer_norm(x, (8,)), self.table("output").weight)


@Transformer.mistake("takes padding to be token 0 whatever `pad` says")
class ModelOfPadZero(model_torch.Transformer):
    """The masks compare with 0, and here padding has another number. Keep the argument `pad`, and compare with it."""

    def padding_mask(self, tokens):
        return (tokens != 0).unsqueeze(-2)


@Transformer.mistake("has one layer, several times")
class ModelOfOneLayer(model_torch.Transformer):
    """The layers of a stack are one and the same object: `[layer] * n` repeats a reference, so that all share one set
    of weights. Build each of the n layers."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        for name in ("encoder", "decoder"):
            layers = getattr(self, name)
            setattr(self, name, nn.ModuleList([layers[0]] * len(layers)))


@Transformer.mistake("numbers the sentences, not the words")
class ModelOfBatchPositions(model_torch.Transformer):
    """The positions run along the *batch*: every word of the first sentence has position 0, every word of the second
    position 1. Positions are the axis before the last, here and in every array (batch, T, d_model)."""

    def embed(self, tokens, table):
        scaled = table(tokens) * table.embedding_dim**0.5
        return scaled + scaled.new_tensor(sinusoidal_encoding(len(tokens), table.embedding_dim))[:, None]


@Transformer.mistake("adds the positions in every layer")
class ModelOfPositionsEverywhere(model_torch.Transformer):
    """Every layer's input gets the positions, so with two layers they are in the sum twice. They are added once, to the
    embedding, and the residual connections carry them on."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        for layer in (*self.encoder[1:], *self.decoder[1:]):
            layer.register_forward_pre_hook(with_positions)


def with_positions(layer, inputs):
    x, *others = inputs
    return x + x.new_tensor(sinusoidal_encoding(*x.shape[-2:])), *others


@Transformer.equivalent
class SentenceBySentence(model_torch.Transformer):
    def forward(self, src, tgt):
        pairs = zip(src, tgt, strict=True)
        return nn.utils.rnn.pad_sequence([super(type(self), self).forward(s, t) for s, t in pairs], batch_first=True)


@Transformer.equivalent
class ByMatrixProduct(model_torch.Transformer):
    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src)


@Transformer.equivalent
class ByOneHot(model_torch.Transformer):
    def embed(self, tokens, table):
        one_hot = functional.one_hot(tokens, table.num_embeddings).to(table.weight)
        x = one_hot @ table.weight * table.embedding_dim**0.5
        encoding = sinusoidal_encoding(tokens.shape[-1], table.embedding_dim)
        return x + x.new_tensor(encoding)
