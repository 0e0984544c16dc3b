"""DecoderLayer: its cases, its known mistakes and its right rewrites."""

import numpy as np
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.in_pytorch import LAYER, asked_of
from solutions import model_torch

DecoderLayer = Exercise(
    model_torch.DecoderLayer,
    outputs={"output": "... T d_model"},
    section="The same model in PyTorch",
    uses=("MultiHeadAttention",),
)


@DecoderLayer.cases("the idea", points=1)
def _(draw):
    n, T, T_memory = draw.sizes(3)
    inputs = [draw.normal(n, T, 8), draw.normal(n, T_memory, 8)]
    yield "no masks", asked_of(model_torch.DecoderLayer, draw, LAYER, inputs)
    everything = asked_of(model_torch.DecoderLayer, draw, LAYER | {"dropout": 1.0}, inputs)
    yield "dropout drops everything in training", everything | {"training": True}


@DecoderLayer.cases("masks", points=1)
def _(draw):
    n, T, T_memory = draw.sizes(3, low=3)
    causal, padding = np.tri(T, dtype=bool), np.ones((n, 1, T_memory), bool)
    padding[0, 0, 1:] = False
    inputs = [draw.normal(n, T, 8), draw.normal(n, T_memory, 8), causal, padding]
    yield "both masks", asked_of(model_torch.DecoderLayer, draw, LAYER, inputs)
    padding = np.ones((n, 1, T), bool)
    padding[0, 0, 1:] = False
    inputs = [draw.normal(n, T, 8), draw.normal(n, T, 8), causal, padding]
    yield "both masks, sequences of one length", asked_of(model_torch.DecoderLayer, draw, LAYER, inputs)
    inputs = [draw.normal(n, T, 8), draw.normal(n, T_memory, 8), np.arange(T) > 0, np.arange(T_memory) > 0]
    yield "masks of one axis", asked_of(model_torch.DecoderLayer, draw, LAYER, inputs)


class Steps(model_torch.DecoderLayer):
    """The layer with its sub-layers at hand."""

    def attend(self, x, mask):
        return self.dropout(self.attention(x, x, x, mask))

    def recall(self, x, memory, mask):
        return self.dropout(self.cross_attention(x, memory, memory, mask))

    def think(self, x):
        return self.dropout(self.feed_forward(x))


@DecoderLayer.mistake("uses its first norm twice")
class FirstNormTwice(Steps):
    """The sum after the cross-attention goes through `norm_attention`, and `norm_cross_attention` never gets a
    gradient. With fresh norms this does not show; with trained norms the error is as large as the output."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attend(x, self_mask))
        x = self.norm_attention(x + self.recall(x, memory, memory_mask))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.mistake("uses the first norm twice, and the third never")
class NormsOneLate(Steps):
    """The sum after the cross-attention goes through `norm_attention`, and the last through `norm_cross_attention`:
    `norm_feed_forward` never gets a gradient. With fresh norms this does not show. Each sub-layer has a norm of its
    own."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attend(x, self_mask))
        x = self.norm_attention(x + self.recall(x, memory, memory_mask))
        return self.norm_cross_attention(x + self.think(x))


@DecoderLayer.mistake("never drops")
class NeverDrops(model_torch.DecoderLayer):
    """No sub-layer's output goes through dropout, also in training. Call `self.dropout` on it, before the sum."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attention(x, x, x, self_mask))
        x = self.norm_cross_attention(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm_feed_forward(x + self.feed_forward(x))


@DecoderLayer.mistake("never uses the third norm")
class ThirdNormNever(Steps):
    """The last sum goes through `norm_attention` again, and `norm_feed_forward` never gets a gradient. With fresh norms
    this does not show. Each sub-layer has a norm of its own."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attend(x, self_mask))
        x = self.norm_cross_attention(x + self.recall(x, memory, memory_mask))
        return self.norm_attention(x + self.think(x))


@DecoderLayer.mistake("makes the queries from the self-attention's output, before Add & Norm")
class AsksWithTheUpdate(Steps):
    """The query of the cross-attention is what the self-attention returned, not yet added to the stream and not yet
    normalised. Make the query from the stream after the first Add & Norm."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        attended = self.attend(x, self_mask)
        x = self.norm_attention(x + attended)
        x = self.norm_cross_attention(x + self.recall(attended, memory, memory_mask))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.mistake("asks the memory first")
class CrossFirst(Steps):
    """The cross-attention comes before the self-attention: the decoder asks the source before it has looked at what it
    wrote."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_cross_attention(x + self.recall(x, memory, memory_mask))
        x = self.norm_attention(x + self.attend(x, self_mask))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.mistake("has no memory mask")
class DecoderWithoutMemoryMask(Steps):
    """The cross-attention does not get its mask, so it attends to padding."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask)


@DecoderLayer.mistake("has no mask over itself")
class DecoderWithoutCausalMask(Steps):
    """The self-attention does not get its mask, so it sees words that are still to be written."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, None, memory_mask)


@DecoderLayer.mistake("takes the values from the decoder")
class ValuesFromDecoder(Steps):
    """The roles are swapped: the memory asks and the decoder answers, wherever the shapes allow it. Queries come from
    x; keys and values from the memory."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attend(x, self_mask))
        x = self.norm_cross_attention(x + self.cross_attention(x, x, x))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.mistake("adds every sub-layer's output to x")
class ResidualFromX(Steps):
    """Each of the three outputs is added to the layer's input x. A sub-layer's output goes to what that sub-layer read:
    the stream after the norm before it."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        attended = self.norm_attention(x + self.attend(x, self_mask))
        recalled = self.norm_cross_attention(x + self.recall(attended, memory, memory_mask))
        return self.norm_feed_forward(x + self.think(recalled))


@DecoderLayer.mistake("adds the cross-attention's output to x")
class SecondResidualFromX(Steps):
    """What the cross-attention returns is added to the layer's input x, so what the self-attention found is in the
    queries only. Add it to the stream after the first norm, which the cross-attention read."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        attended = self.norm_attention(x + self.attend(x, self_mask))
        recalled = self.norm_cross_attention(x + self.recall(attended, memory, memory_mask))
        return self.norm_feed_forward(recalled + self.think(recalled))


@DecoderLayer.mistake("uses the target's mask over the memory")
class TargetMaskOverMemory(Steps):
    """Both attentions get self_mask. It fits the memory only where both sequences are equally long, and there it hides
    the end of the source from the first words. The cross-attention gets memory_mask."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask, self_mask)


@DecoderLayer.equivalent
class StepByStep(Steps):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(self.attend(x, self_mask) + x)
        x = self.norm_cross_attention(self.recall(x, memory, memory_mask) + x)
        return self.norm_feed_forward(self.think(x) + x)


@DecoderLayer.equivalent
class ByFunctionalDropout(model_torch.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def dropped(update):
            return functional.dropout(update, self.dropout.p, self.training)

        y = self.norm_attention(x + dropped(self.attention(x, x, x, self_mask)))
        z = self.norm_cross_attention(y + dropped(self.cross_attention(y, memory, memory, memory_mask)))
        return self.norm_feed_forward(z + dropped(self.feed_forward(z)))


@DecoderLayer.equivalent
class InALoop(Steps):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        for norm, sub_layer in (
            (self.norm_attention, lambda y: self.attend(y, self_mask)),
            (self.norm_cross_attention, lambda y: self.recall(y, memory, memory_mask)),
            (self.norm_feed_forward, self.think),
        ):
            x = norm(x + sub_layer(x))
        return x
