import numpy as np
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.in_pytorch import LAYER, asked_of
from solutions import model_torch

DecoderLayer = Exercise(
    model_torch.DecoderLayer, outputs={"output": "... T d_model"}, section="The same model in PyTorch"
)
wrong = short_mistakes(DecoderLayer)


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


NORMS = FIRST, SECOND, THIRD = "norm_attention", "norm_cross_attention", "norm_feed_forward"


class Steps(model_torch.DecoderLayer):
    """The layer, with its parts as separate methods."""

    norms = NORMS

    def masks(self, own, over_memory):
        return own, over_memory

    def drop(self, update):
        return self.dropout(update)

    def attend(self, x, mask):
        return self.drop(self.attention(x, x, x, mask))

    def recall(self, x, memory, mask):
        return self.drop(self.cross_attention(x, memory, memory, mask))

    def think(self, x):
        return self.drop(self.feed_forward(x))

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        self_mask, memory_mask = self.masks(self_mask, memory_mask)
        first, second, third = (getattr(self, name) for name in self.norms)
        x = first(x + self.attend(x, self_mask))
        x = second(x + self.recall(x, memory, memory_mask))
        return third(x + self.think(x))


wrong("FirstNormTwice", Steps, norms=(FIRST, FIRST, THIRD))("""
    uses its first norm twice
    The sum after the cross-attention goes through `norm_attention`, and `norm_cross_attention` never gets a gradient.
    Fresh norms are all equal, so this shows only after training has changed them.""")
wrong("NormsOneLate", Steps, norms=(FIRST, FIRST, SECOND))("""
    uses the first norm twice, and the third never
    The sum after the cross-attention goes through `norm_attention`, and the last through `norm_cross_attention`:
    `norm_feed_forward` never gets a gradient. With fresh norms this does not show. Each sub-layer has a norm of its
    own.""")
wrong("NeverDrops", Steps, drop=lambda self, update: update)("""
    never drops
    No sub-layer's output goes through dropout, not even in training. Call `self.dropout` on it, before the sum.""")
wrong("ThirdNormNever", Steps, norms=(FIRST, SECOND, FIRST))("""
    never uses the third norm
    The last sum goes through `norm_attention` again, and `norm_feed_forward` never gets a gradient. With fresh norms
    this does not show. Each sub-layer has a norm of its own.""")


@DecoderLayer.mistake("makes the queries from the self-attention's output, before Add & Norm")
class AsksWithTheUpdate(Steps):
    """You make the query of the cross-attention from what the self-attention returned, before Add & Norm. Make the
    query from the stream after the first Add & Norm."""

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


wrong("DecoderWithoutMemoryMask", Steps, masks=lambda self, own, over_memory: (own, None))("""
    has no memory mask
    The cross-attention does not get its mask, so it attends to padding.""")
wrong("DecoderWithoutCausalMask", Steps, masks=lambda self, own, over_memory: (None, over_memory))("""
    has no mask over itself
    The self-attention does not get its mask, so it sees words that the decoder has yet to write.""")
wrong("ValuesFromDecoder", Steps, recall=lambda self, x, memory, mask: self.cross_attention(x, x, x))("""
    takes the values from the decoder
    The roles are swapped: the queries come from the memory, and the keys and values from the decoder. Make the queries
    from x, and the keys and values from the memory.""")


@DecoderLayer.mistake("adds every sub-layer's output to x")
class ResidualFromX(Steps):
    """You add each of the three outputs to the layer's input x. Add each sub-layer's output to what this sub-layer
    read: the stream after the previous norm."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        attended = self.norm_attention(x + self.attend(x, self_mask))
        recalled = self.norm_cross_attention(x + self.recall(attended, memory, memory_mask))
        return self.norm_feed_forward(x + self.think(recalled))


@DecoderLayer.mistake("adds the cross-attention's output to x")
class SecondResidualFromX(Steps):
    """You add the cross-attention's output to the layer's input x, so the self-attention's output affects only the
    queries. Add it to the stream after the first norm, which the cross-attention read."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        attended = self.norm_attention(x + self.attend(x, self_mask))
        recalled = self.norm_cross_attention(x + self.recall(attended, memory, memory_mask))
        return self.norm_feed_forward(recalled + self.think(recalled))


wrong("TargetMaskOverMemory", Steps, masks=lambda self, own, over_memory: (own, own))("""
    uses the target's mask over the memory
    Both attentions get self_mask. It fits the memory only if both sequences are equally long, and then it hides the end
    of the source from the first words. Pass memory_mask to the cross-attention.""")


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
