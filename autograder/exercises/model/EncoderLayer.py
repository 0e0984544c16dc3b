import numpy as np
from torch.nn import functional

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.in_pytorch import LAYER, asked_of
from solutions import model_torch

EncoderLayer = Exercise(
    model_torch.EncoderLayer, outputs={"output": "... T d_model"}, section="The same model in PyTorch"
)
wrong = short_mistakes(EncoderLayer)


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
    """The layer, with its parts as separate methods."""

    norms = "norm_attention", "norm_feed_forward"

    def add(self, x, update):
        return x + update

    def drop(self, update):
        return self.dropout(update)

    def attend(self, x, mask):
        return self.drop(self.attention(x, x, x, mask))

    def think(self, x):
        return self.drop(self.feed_forward(x))

    def forward(self, x, mask=None):
        first, second = (getattr(self, name) for name in self.norms)
        x = first(self.add(x, self.attend(x, mask)))
        return second(self.add(x, self.think(x)))


@EncoderLayer.mistake("normalises before, not after")
class PreNormEncoder(Steps):
    """This is pre-norm: each sub-layer gets a normalised input, and the sum is not normalised. The paper and this model
    normalise the sum."""

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm_attention(x), mask)
        return x + self.think(self.norm_feed_forward(x))


wrong("OneNormEncoder", Steps, norms=("norm_attention", "norm_attention"))("""
    uses one norm twice
    Both sums go through `norm_attention`. Fresh norms are all alike, so this does not show until training has changed
    them. The other norm never gets a gradient.""")
wrong("NoResidualEncoder", Steps, add=lambda self, x, update: update)("""
    leaves out the residual connections
    You normalise the sub-layers' outputs without adding x: the "Add" of "Add & Norm" is missing.""")
wrong("EncoderWithoutMask", Steps, attend=lambda self, x, mask: self.drop(self.attention(x, x, x)))("""
    does not pass the mask on
    The layer does not use its mask. Pass it to the attention.""")
wrong("DropoutAlwaysOn", Steps, drop=lambda self, update: functional.dropout(update, float(self.dropout.p > 0)))("""
    forgets in evaluation too
    Dropout is active although the module is in evaluation mode. `nn.Dropout` follows the mode by itself, but
    `functional.dropout` needs the argument training=self.training.""")
wrong("NeverDrops", Steps, drop=lambda self, update: update)("""
    never drops
    No sub-layer's output goes through dropout, not even in training. Call `self.dropout` on it, before the sum.""")
wrong(
    "StreamDropped", Steps, drop=lambda self, update: update, add=lambda self, x, update: self.dropout(x + update)
)("""
    drops the stream, too
    Dropout acts on the sums, so the stream loses entries as well. Only the sub-layer's output goes through dropout: `x
    + self.dropout(...)`.""")
wrong(
    "GeluEncoder",
    Steps,
    think=lambda self, x: self.drop(self.feed_forward.linear_out(functional.gelu(self.feed_forward.linear_in(x)))),
)("""
    uses GELU instead of relu
    Your feed-forward has GELU between its layers, as in BERT. The paper and this model use relu.""")
wrong(
    "LinearEncoder",
    Steps,
    think=lambda self, x: self.drop(self.feed_forward.linear_out(self.feed_forward.linear_in(x))),
)("""
    leaves relu out
    Your feed-forward is two linear layers with nothing between them, which are one linear layer, however wide the
    middle is. Apply relu between them.""")
wrong("ReluTwiceEncoder", Steps, think=lambda self, x: self.drop(functional.relu(self.feed_forward(x))))("""
    applies relu after both layers
    Your feed-forward applies relu once too often. The relu between the layers is right, but the relu after the second
    layer forbids negative outputs, so no sum could lower an entry of the stream.""")
wrong("ScaledInEvaluation", Steps, drop=lambda self, update: (1 - self.dropout.p) * self.dropout(update))("""
    scales in evaluation what dropout kept in training
    In evaluation you multiply the sub-layers' outputs by 1 - p. `nn.Dropout` already divides by 1 - p in training, so
    evaluation needs no factor: your layer scales twice.""")


@EncoderLayer.mistake("adds the feed-forward's output to x")
class SecondResidualFromX(Steps):
    """You add the feed-forward's output to the layer's input x, so the attention's output is lost from the stream. Add
    it to what the feed-forward read, the stream after the first norm."""

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
