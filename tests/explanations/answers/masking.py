"""Wrong answers to chapter 3, masking."""

import math

import numpy as np

from solutions.attention import scaled_scores, softmax
from solutions.masking import causal_mask, masked_softmax, padding_mask
from tests.explanations.registry import wrong


def filled(scores, mask, number):
    """Softmax with one number in the hidden places."""
    return softmax(np.where(mask, scores, scores.dtype.type(number)))


@wrong("masked_softmax", "https://github.com/huggingface/pytorch-image-models/pull/2236", names="after_the_softmax")
def mask_after_softmax(scores, mask):
    """Multiplies the weights by the mask."""
    return softmax(scores) * mask


@wrong("masked_softmax", "https://github.com/georg-wolflein/good-features/pull/1", names="scores_times_mask")
def scores_times_mask(scores, mask):
    """Multiplies the scores by the mask, so that hidden ones count as 0."""
    return softmax(scores * mask)


@wrong(
    "masked_softmax",
    "https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/5",
    names="nan_when_empty",
)
def nan_where_nothing_is_seen(scores, mask):
    """Minus infinity everywhere in a row gives NaN."""
    return filled(scores, mask, -np.inf)


@wrong("masked_softmax", "https://github.com/awslabs/gluonts/pull/1401", names="scores_times_mask")
def billionth_for_minus_billion(scores, mask):
    """Fills with 1e-9 instead of -1e9."""
    return filled(scores, mask, 1e-9)


@wrong("masked_softmax", "https://github.com/Shujun-He/RibonanzaNet/issues/5", names="scores_times_mask")
def minus_billionth(scores, mask):
    """Fills with -1e-9 instead of -1e9."""
    return filled(scores, mask, -1e-9)


@wrong(
    "masked_softmax", "https://github.com/TransformerLensOrg/TransformerLens/pull/319", names="even_weights_when_empty"
)
def minus_hundred_thousand(scores, mask):
    """Fills with -1e5, and scores can be smaller."""
    return filled(scores, mask, -1e5)


@wrong("masked_softmax", "https://github.com/huggingface/transformers/issues/14859", names="unmasked_when_empty_-10000")
def adds_minus_ten_thousand(scores, mask):
    """Adds -1e4 to what is hidden."""
    return softmax(scores + (~mask * -1e4).astype(scores.dtype))


@wrong(
    "masked_softmax",
    "https://github.com/lucidrains/memory-compressed-attention/issues/2",
    names="hidden_by_plus_infinity",
)
def plus_infinity(scores, mask):
    """Two minus signs make the infinity positive."""
    return filled(scores, mask, np.inf)


@wrong("masked_softmax", "https://github.com/ruotianluo/self-critical.pytorch/issues/89", names="renormalised")
def renormalised(scores, mask):
    """Divides the masked weights by their sum, which can be zero."""
    weights = softmax(scores) * mask
    return weights / weights.sum(axis=-1, keepdims=True)


@wrong("masked_softmax", "https://github.com/tracel-ai/burn/pull/4697", names="a_little_more_1e-6")
def maximum_clamped(scores, mask):
    """Rows without a visible entry divide 0 by a small number; the maximum has a floor of -1e4."""
    hidden = np.where(mask, scores, -np.inf)
    powers = np.exp(hidden - np.maximum(hidden.max(axis=-1, keepdims=True), -1e4))
    return (powers / (powers.sum(axis=-1, keepdims=True) + 1e-6)).astype(scores.dtype)


@wrong("masked_softmax", "https://github.com/ml-explore/mlx/issues/2395", names="lowest_number_when_empty")
def finite_fill(scores, mask):
    """Fills with the smallest number, so that a row that sees nothing is spread evenly."""
    return filled(scores, mask, np.finfo(scores.dtype).min)


@wrong("masked_softmax", "https://github.com/huggingface/transformers/pull/31303", names="lowest_number_added")
def finite_penalty(scores, mask):
    """Adds the lowest number: with a very low score the sum overflows, and a row that sees nothing is not zero."""
    return softmax(scores + (~mask).astype(scores.dtype) * np.finfo(scores.dtype).min)


@wrong("masked_softmax", "https://github.com/lucidrains/halonet-pytorch/pull/6", names="polarity_inverted")
def hides_what_is_real(scores, mask):
    """Fills where the mask is True."""
    return masked_softmax(scores, ~np.asarray(mask))


@wrong("masked_softmax", "https://github.com/facebookresearch/fairseq2/pull/59", names="tiny_penalty")
def mask_forgotten(scores, mask):
    """Drops the mask on the way."""
    return softmax(scores)


@wrong("causal_mask", "https://github.com/hkproj/pytorch-transformer/issues/19", names="inverted_causal")
def above_the_diagonal(length):
    """Forgets the comparison with zero: what should be hidden is visible."""
    return np.triu(np.ones((length, length)), k=1).astype(bool)


@wrong("causal_mask", "https://github.com/JohnSnowLabs/spark-nlp/pull/2149", says="zero everywhere")
def zeros_everywhere(length):
    """A matrix of zeros, to be added, that hides nothing."""
    return np.zeros((length, length))


@wrong("target_mask", "https://github.com/facebookresearch/SymbolicMathematics/issues/19", names="causal_alone")
def no_padding_in_it(tokens, pad):
    """Hides the future and forgets the padding."""
    return np.broadcast_to(causal_mask(tokens.shape[-1]), (*tokens.shape, tokens.shape[-1]))


@wrong("target_mask", "https://github.com/keras-team/keras-io/pull/1046", names="padding_mask.padded_queries")
def padding_along_the_rows(tokens, pad):
    """Broadcasts the padding along the queries' axis."""
    return causal_mask(tokens.shape[-1]) & (tokens != pad)[..., None]


@wrong("target_mask", "https://github.com/zai-org/GLM-4-Voice/issues/182", names="either")
def future_or_padding(tokens, pad):
    """Joins the two masks so that one of them is enough to be visible."""
    return causal_mask(tokens.shape[-1]) | padding_mask(tokens, pad)


@wrong("padding_mask", "https://github.com/yg211/bert_nli/pull/3", names="all_real")
def all_ones(tokens, pad):
    """Treats every token as real."""
    return np.ones((*tokens.shape[:-1], 1, tokens.shape[-1]), bool)


@wrong("padding_mask", "https://github.com/CarryCKW/AES-NPCR/issues/7")
def padding_is_one(tokens, pad):
    """Treats token 1 as padding."""
    return (tokens != 1)[..., None, :]


@wrong("padding_mask", "https://github.com/lucidrains/feedback-transformer-pytorch/issues/6", names="inverted_padding")
def padding_is_visible(tokens, pad):
    """Marks padding with True."""
    return (tokens == pad)[..., None, :]


@wrong("leaks", "https://github.com/kzl/decision-transformer/issues/30", names="changes_nothing")
def padding_is_enough(decoder, **sequences):
    """Says that nothing leaks because padding is hidden."""
    return False


def block_scores(queries, keys, start, size, causal):
    scores = scaled_scores(queries, keys[..., start : start + size, :])
    if not causal:
        return scores
    visible = np.arange(start, start + scores.shape[-1]) <= np.arange(scores.shape[-2])[:, None]
    return np.where(visible, scores, -np.inf).astype(scores.dtype)


@wrong("causal_mask", "https://github.com/pbloem/former/issues/10", names="without_the_diagonal")
def own_position_hidden(length):
    """Hides the diagonal, too."""
    return np.tri(length, k=-1, dtype=bool)


@wrong("padding_mask", "https://github.com/hyunwoongko/transformer/pull/40", names="padded_queries")
def queries_masked(tokens, pad):
    """Puts the new axis last, so that it hides queries instead of keys."""
    return (tokens != pad)[..., :, np.newaxis]


@wrong("target_mask", "https://github.com/facebookresearch/xformers/issues/103")
def causal_with_padding_only(tokens, pad):
    """Hides the future only if there is padding to hide."""
    mask = np.repeat(padding_mask(tokens, pad), tokens.shape[-1], axis=-2)
    return mask & causal_mask(tokens.shape[-1]) if (tokens == pad).any() else mask


@wrong("streaming_attention", "https://github.com/PaddleJitLab/CUDATutorial/issues/69", names="block_sum_twice")
def block_sum_counted_twice(queries, keys, values, size, causal=False):
    """Multiplies what a block adds by the block's sum once more."""
    top = np.full_like(queries[..., :1], -np.inf)
    total = np.zeros_like(top)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for start in range(0, keys.shape[-2], size):
        scores = block_scores(queries, keys, start, size, causal)
        new_top = np.maximum(top, scores.max(axis=-1, keepdims=True))
        shrink, strengths = np.exp(top - new_top), np.exp(scores - new_top)
        block_sum = strengths.sum(axis=-1, keepdims=True)
        total = shrink * total + block_sum
        output = shrink * output + block_sum * (strengths @ values[..., start : start + size, :])
        top = new_top
    return output / total, top + np.log(total)


@wrong("streaming_attention", "https://github.com/vllm-project/flash-attention/pull/34", names="without_the_maximum")
def logarithm_without_the_maximum(queries, keys, values, size, causal=False):
    """Returns the logarithm of the sum after the maximum was subtracted."""
    top = np.full_like(queries[..., :1], -np.inf)
    total = np.zeros_like(top)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for start in range(0, keys.shape[-2], size):
        scores = block_scores(queries, keys, start, size, causal)
        new_top = np.maximum(top, scores.max(axis=-1, keepdims=True))
        shrink, strengths = np.exp(top - new_top), np.exp(scores - new_top)
        total = shrink * total + strengths.sum(axis=-1, keepdims=True)
        output = shrink * output + strengths @ values[..., start : start + size, :]
        top = new_top
    return output / total, np.log(total)


@wrong("streaming_attention_backward", "https://github.com/Dao-AILab/flash-attention/issues/2555")
def sums_over_the_rows(grad_output, cache, size, causal=False):
    """Sums gradient times output over the queries, not over the width."""
    queries, keys, values, output, log_total = cache
    gradients = [np.zeros_like(array) for array in (queries, keys, values)]
    sums = np.sum(grad_output * output, axis=-2, keepdims=True)
    for start in range(0, keys.shape[-2], size):
        block = np.s_[..., start : start + size, :]
        weights = np.exp(block_scores(queries, keys, start, size, causal) - log_total)
        grad_scores = weights * (grad_output @ values[block].swapaxes(-1, -2) - sums) / math.sqrt(keys.shape[-1])
        gradients[0] += grad_scores @ keys[block]
        gradients[1][block] = grad_scores.swapaxes(-1, -2) @ queries
        gradients[2][block] = weights.swapaxes(-1, -2) @ grad_output
    return tuple(gradients)
