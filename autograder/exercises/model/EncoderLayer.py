"""EncoderLayer: its cases, its known mistakes and its right rewrites."""

import numpy as np
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.in_pytorch import LAYER, asked_of
from solutions import model_torch

EncoderLayer = Exercise(
    model_torch.EncoderLayer,
    outputs={"output": "... T d_model"},
    section="The same model in PyTorch",
    uses=("MultiHeadAttention",),
)


@EncoderLayer.cases("the idea", points=1)
def _(draw):
    n, T = draw.sizes(2)
    yield "no mask", asked_of(model_torch.EncoderLayer, draw, LAYER, [draw.normal(n, T, 8)])


@EncoderLayer.cases("masks and dropout", points=1)
def _(draw):
    n, T = draw.sizes(2)
    mask = np.ones((n, 1, T), bool)
    mask[0, 0, T // 2 :] = False
    yield "padding", asked_of(model_torch.EncoderLayer, draw, LAYER, [draw.normal(n, T, 8), mask])
    inputs = [draw.normal(n, T, 8), np.arange(T) > 0]
    yield "a mask of one axis", asked_of(model_torch.EncoderLayer, draw, LAYER, inputs)
    still = LAYER | {"dropout": 0.5}
    yield "dropout is still in evaluation", asked_of(model_torch.EncoderLayer, draw, still, [draw.normal(n, T, 8)])
    inputs = asked_of(model_torch.EncoderLayer, draw, LAYER | {"dropout": 1.0}, [draw.normal(n, T, 8)])
    yield "dropout drops everything in training", inputs | {"training": True}


class Steps(model_torch.EncoderLayer):
    """The layer with its sub-layers at hand."""

    def attend(self, x, mask):
        return self.dropout(self.attention(x, x, x, mask))

    def think(self, x):
        return self.dropout(self.feed_forward(x))


@EncoderLayer.mistake("normalises before, not after")
class PreNormEncoder(Steps):
    """This is pre-norm: each sub-layer gets a normalised input, and the sum is left as it is. The paper, and this
    model, normalise the sum."""

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm_attention(x), mask)
        return x + self.think(self.norm_feed_forward(x))


@EncoderLayer.mistake("uses one norm twice")
class OneNormEncoder(Steps):
    """Both sums go through `norm_attention`. Fresh norms are all alike, so this does not show until training has
    changed them. The other norm never gets a gradient."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_attention(x + self.think(x))


@EncoderLayer.mistake("leaves out the residual connections")
class NoResidualEncoder(Steps):
    """You normalise the sub-layers' outputs without adding x: "Add & Norm" lacks its Add."""

    def forward(self, x, mask=None):
        x = self.norm_attention(self.attend(x, mask))
        return self.norm_feed_forward(self.think(x))


@EncoderLayer.mistake("does not pass the mask on")
class EncoderWithoutMask(Steps):
    """The layer does not use its mask. Pass it to the attention."""

    def forward(self, x, mask=None):
        return super().forward(x)


@EncoderLayer.mistake("forgets in evaluation too")
class DropoutAlwaysOn(model_torch.EncoderLayer):
    """Dropout is active although the module is in evaluation mode. `nn.Dropout` follows the mode by itself, but
    `functional.dropout` needs the argument training=self.training."""

    def forward(self, x, mask=None):
        rate = 0.0 if self.dropout.p == 0 else 1.0
        x = self.norm_attention(x + functional.dropout(self.attention(x, x, x, mask), rate))
        return self.norm_feed_forward(x + functional.dropout(self.feed_forward(x), rate))


@EncoderLayer.mistake("never drops")
class NeverDrops(model_torch.EncoderLayer):
    """No sub-layer's output goes through dropout, also in training. Call `self.dropout` on it, before the sum."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.attention(x, x, x, mask))
        return self.norm_feed_forward(x + self.feed_forward(x))


@EncoderLayer.mistake("drops the stream, too")
class StreamDropped(model_torch.EncoderLayer):
    """Dropout acts on the sums, so the stream loses entries as well. Only the sub-layer's output goes through dropout:
    `x + self.dropout(...)`."""

    def forward(self, x, mask=None):
        x = self.norm_attention(self.dropout(x + self.attention(x, x, x, mask)))
        return self.norm_feed_forward(self.dropout(x + self.feed_forward(x)))


@EncoderLayer.mistake("uses GELU in place of relu")
class GeluEncoder(Steps):
    """Your feed-forward has GELU between its layers, as in BERT. The paper's layer, and this one, has relu."""

    def think(self, x):
        return self.feed_forward.linear_out(functional.gelu(self.feed_forward.linear_in(x)))

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_feed_forward(x + self.think(x))


@EncoderLayer.mistake("scales in evaluation what dropout kept in training")
class ScaledInEvaluation(Steps):
    """In evaluation you multiply the sub-layers' outputs by 1 - p. `nn.Dropout` already divides by 1 - p in training,
    so evaluation needs no factor: your layer scales twice."""

    def forward(self, x, mask=None):
        share = 1 - self.dropout.p
        x = self.norm_attention(x + share * self.attend(x, mask))
        return self.norm_feed_forward(x + share * self.think(x))


@EncoderLayer.mistake("adds the feed-forward's output to x")
class SecondResidualFromX(Steps):
    """The feed-forward's output is added to the layer's input x, so what the attention found leaves the stream. Add it
    to what the feed-forward read, the stream after the first norm."""

    def forward(self, x, mask=None):
        return self.norm_feed_forward(x + self.think(self.norm_attention(x + self.attend(x, mask))))


@EncoderLayer.equivalent
class StepByStep(Steps):
    def forward(self, x, mask=None):
        x = self.norm_attention(self.attend(x, mask) + x)
        return self.norm_feed_forward(self.think(x) + x)


@EncoderLayer.equivalent
class ByFunctions(model_torch.EncoderLayer):
    def forward(self, x, mask=None):
        def normed_sum(x, update, norm):
            x = x + functional.dropout(update, self.dropout.p, self.training)
            return functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias)

        x = normed_sum(x, self.attention(x, x, x, mask), self.norm_attention)
        return normed_sum(x, self.feed_forward(x), self.norm_feed_forward)


@EncoderLayer.equivalent
class ByGather(model_torch.EncoderLayer):
    def forward(self, x, mask=None):
        hidden = x.clone()
        for norm, sub_layer in (
            (self.norm_attention, lambda y: self.attention(y, y, y, mask)),
            (self.norm_feed_forward, self.feed_forward),
        ):
            hidden = norm(hidden + self.dropout(sub_layer(hidden)))
        return hidden
