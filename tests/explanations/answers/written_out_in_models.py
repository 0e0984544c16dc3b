"""Wrong answers to chapters 8 and 10 that write out a given function: the layers' parts, clipping, or saving."""

import math

import numpy as np
import torch
from torch.nn import functional

from solutions import model, model_torch, training
from solutions.parameters import flatten, map_tree
from tests.explanations.registry import wrong

# ------------------------------------------------------------------------------------------- layers in PyTorch


@wrong("EncoderLayer", "https://github.com/timeseriesAI/tsai/issues/361", names="GeluEncoder")
class Gelu(model_torch.EncoderLayer):
    """Uses gelu instead of relu."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, mask)))
        hidden = functional.gelu(self.feed_forward.linear_in(x))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward.linear_out(hidden)))


@wrong("EncoderLayer", "https://github.com/d2l-ai/d2l-en/issues/1564", names="LinearEncoder")
class TwoLinearLayers(model_torch.EncoderLayer):
    """Has no relu between the layers."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward.linear_out(self.feed_forward.linear_in(x))))


@wrong("EncoderLayer", "https://github.com/namedtensor/notation/issues/72", names="ReluTwiceEncoder")
class EndsWithRelu(model_torch.EncoderLayer):
    """Applies relu to the feed-forward's output, too."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, mask)))
        hidden = self.feed_forward.linear_in(x).relu()
        return self.norm_feed_forward(x + self.dropout(self.feed_forward.linear_out(hidden).relu()))


@wrong("EncoderLayer", "https://github.com/goruck/nilm/issues/1")
class ReluAtTheEnd(model_torch.EncoderLayer):
    """Applies relu to the feed-forward's output and not to its hidden features."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, mask)))
        update = self.feed_forward.linear_out(self.feed_forward.linear_in(x)).relu()
        return self.norm_feed_forward(x + self.dropout(update))


class Summed(model_torch.EncoderLayer):
    """The layer, with `add`, which subclasses write out."""

    def forward(self, x, mask=None):
        x = self.add(x, self.attention(x, x, x, mask), self.norm_attention)
        return self.add(x, self.feed_forward(x), self.norm_feed_forward)


@wrong("EncoderLayer", "https://github.com/soobinseo/Transformer-TTS/issues/11", names="StreamDropped")
class DropoutAfterTheSum(Summed):
    """Drops entries of the sum."""

    def add(self, x, update, norm):
        return norm(self.dropout(x + update))


@wrong("EncoderLayer", "https://github.com/hyunwoongko/transformer/issues/8", says="is zero everywhere")
class DropoutAtTheEnd(Summed):
    """Drops after the norm."""

    def add(self, x, update, norm):
        return self.dropout(norm(x + update))


@wrong("MultiHeadAttention", "https://github.com/lucidrains/halonet-pytorch/pull/6", names="InvertedMask")
class HidesWhatIsReal(model_torch.MultiHeadAttention):
    """Fills where the mask is True."""

    def forward(self, query, key, value, mask=None):
        queries, keys = self.split_heads(self.linear_query(query)), self.split_heads(self.linear_key(key))
        scores = queries @ keys.mT / math.sqrt(keys.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(torch.atleast_2d(mask).unsqueeze(-3), -math.inf)
        heads = scores.softmax(-1) @ self.split_heads(self.linear_value(value))
        return self.linear_output(heads.transpose(-2, -3).flatten(-2))


# ------------------------------------------------------------------------------------------- clipping and saving


def length_of(gradients):
    return float(np.linalg.norm(flatten(gradients)))


def shortened(gradients, factor):
    return map_tree(lambda gradient: factor * gradient, gradients)


def continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, clip):
    """The loop of continue_run; clip(gradients, longest) is written out."""
    params, moments, step, log = run["params"], run["moments"], run["step"], []
    for src, tgt in batches:
        step += 1
        logits, of_model = model.forward(params, src, tgt[:, :-1], n_heads, pad)
        loss, of_loss = training.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
        gradients = model.backward(training.smoothed_cross_entropy_backward(1.0, of_loss), of_model)
        clipped, length = clip(gradients, longest)
        rate = peak * min(step / warmup, math.sqrt(warmup / step))
        params, moments = training.adam_step(params, clipped, moments, step, rate)
        log.append([float(loss), length])
    return {"params": params, "moments": moments, "step": step}, np.reshape(log, (-1, 2))


def by_its_length(gradients, longest):
    length = length_of(gradients)
    return shortened(gradients, longest / max(length, longest)), length


@wrong("continue_run", "https://github.com/paiml/entrenar/issues/311")
def square_of_the_length(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Forgets the root, and compares and divides by the squared length."""

    def clip(gradients, longest):
        length = float((flatten(gradients) ** 2).sum())
        return shortened(gradients, longest / max(length, longest)), length

    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, clip)


@wrong("continue_run", "https://github.com/NVIDIA/OpenSeq2Seq/pull/192", names="not_clipped")
def never_clips(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Passes the gradients on as they are."""

    def clip(gradients, longest):
        return gradients, length_of(gradients)

    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, clip)


@wrong("continue_run", "https://github.com/IntelLabs/distiller/issues/145", says="is zero everywhere")
def moments_not_saved(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Returns the parameters and the step only, with moments of zero."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, by_its_length)
    return new | {"moments": training.zero_moments(new["params"])}, log


@wrong("continue_run", "https://github.com/IntelLabs/distiller/issues/145", says="lacks 'moments'")
def moments_left_out(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Returns a run without moments."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, by_its_length)
    return {"params": new["params"], "step": new["step"]}, log


@wrong("continue_run", "https://github.com/atomistic-machine-learning/schnetpack/issues/102", names="step_not_counted")
def step_not_saved(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Keeps the step that the run had at its beginning."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, by_its_length)
    return run | {"params": new["params"], "moments": new["moments"]}, log


@wrong(
    "continue_run", "https://github.com/PolymathicAI/the_well/issues/77", says="has 'moment' where 'moments' should be"
)
def name_misspelt(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Misspells a name."""
    new, log = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, by_its_length)
    return {"params": new["params"], "moment": new["moments"], "step": new["step"]}, log


@wrong("continue_run", names="clipped_length_logged")
def length_logged_after_clipping_by_hand(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    def clip(gradients, longest):
        clipped, _ = by_its_length(gradients, longest)
        return clipped, length_of(clipped)

    return continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, clip)
