"""Wrong answers to chapter 12, a dictionary of words that do not exist: the optimiser, and what a model costs."""

import numpy as np

from solutions.parameters import map_tree
from tests.explanations.registry import wrong


def adamw(
    params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps, *,
    numerator=lambda mean, p, decay: mean, root=None, pull=lambda p, moved, decay: decay * p,
    decays=lambda p: p.ndim > 1, corrected=True,
):  # fmt: skip
    mean = map_tree(lambda m, g: beta_1 * m + (1 - beta_1) * g, moments[0], gradients)
    squares = map_tree(lambda v, g: beta_2 * v + (1 - beta_2) * g**2, moments[1], gradients)
    correction_1, correction_2 = (1 - beta_1**step, 1 - beta_2**step) if corrected else (1, 1)
    root = root or (lambda v: np.sqrt(v / correction_2) + eps)

    def moved(p, m, v):
        own = decay if decays(p) else 0
        adam = p - learning_rate * numerator(m / correction_1, p, own) / root(v)
        return (adam - learning_rate * pull(p, adam, own)).astype(p.dtype)

    return map_tree(moved, params, mean, squares), (mean, squares)


@wrong("adamw_step", "https://github.com/nntrainer/nntrainer/pull/3565", names="in_the_gradient")
def l2_penalty(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Adds the decay to the gradient before the moments."""
    gradients = map_tree(lambda g, p: g + (decay * p if p.ndim > 1 else 0), gradients, params)
    return adamw(params, gradients, moments, step, learning_rate, 0, beta_1, beta_2, eps)


@wrong("adamw_step", "https://github.com/modern-fortran/neural-fortran/issues/152", names="without_rate")
def decay_without_the_rate(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Does not multiply the decay by the learning rate."""
    return adamw(params, gradients, moments, step, learning_rate, decay / learning_rate, beta_1, beta_2, eps)


@wrong("adamw_step", "https://github.com/huggingface/transformers/issues/14539", names="from_the_moved")
def decay_of_the_updated(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Decays the parameters that Adam has moved."""
    return adamw(
        params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps,
        pull=lambda p, moved, decay: decay * moved,
    )  # fmt: skip


@wrong("adamw_step", "https://github.com/huggingface/transformers/issues/4360", names="gains_shrink")
def norms_decay(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Does not leave the norms out of the decay."""
    return adamw(
        params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps, decays=lambda p: True
    )  # fmt: skip


@wrong("adamw_step", "https://github.com/EurekaLabsAI/micrograd/pull/2", names="adam_step.uncorrected")
def no_bias_correction(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Does not correct the moments, which begin at zero."""
    return adamw(params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps, corrected=False)


@wrong("adamw_step", "https://github.com/PaddlePaddle/Paddle/pull/2097", names="in_the_numerator")
def decay_in_the_numerator(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Adds the decay to the mean, so that Adam's root divides it, too."""
    return adamw(
        params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps,
        numerator=lambda mean, p, decay: mean + decay * p, pull=lambda p, moved, decay: 0,
    )  # fmt: skip


@wrong("adamw_step", "https://github.com/e-sensing/torchopt/pull/14", says="a factor left out")
def decay_without_the_parameter(
    params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8
):
    """Subtracts the decay itself, without multiplying it by the parameter."""
    return adamw(
        params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps,
        pull=lambda p, moved, decay: decay * np.ones_like(p),
    )  # fmt: skip


@wrong("adamw_step", "https://github.com/egg-west/AdamW-pytorch/issues/1", names="with_the_correction")
def decay_by_the_step_size(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Multiplies the decay by the step size, which contains the bias correction."""
    size = np.sqrt(1 - beta_2**step) / (1 - beta_1**step)
    return adamw(params, gradients, moments, step, learning_rate, decay * size, beta_1, beta_2, eps)


@wrong("adamw_step", "https://github.com/andersbll/deeppy/issues/17", names="growing")
def penalty_subtracted(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Has the wrong sign in front of the penalty, so the weights grow."""
    return adamw(
        params, gradients, moments, step, learning_rate, decay, beta_1, beta_2, eps,
        pull=lambda p, moved, decay: -decay * p,
    )  # fmt: skip


def cost(sizes, length, kv_width=None, cached_width=None, multiplied=(), attended=2):
    """Count the model; `multiplied` has changed numbers of multiplications."""
    d_model, d_ff = sizes["d_model"], sizes["d_ff"]
    d_key = d_model // sizes["n_heads"]
    width = kv_width or sizes["n_groups"] * d_key
    matrices = {"attention": 2 * d_model**2 + 2 * d_model * width, "feed_forward": 3 * d_model * d_ff}
    table = sizes["vocab"] * d_model
    products = {"scores": table, **{name: sizes["n_layers"] * n for name, n in matrices.items()}} | dict(multiplied)
    n_parameters = table + sizes["n_layers"] * (sum(matrices.values()) + 2 * d_model) + d_model
    n_products = sum(products.values()) + sizes["n_layers"] * attended * d_model * length
    return n_parameters, n_products, sizes["n_layers"] * 2 * (cached_width or width) * length


@wrong("costs", "https://github.com/KolosalAI/model-memory-calculator/issues/2", names="cache_of_heads")
def cache_as_wide_as_the_model(sizes, length):
    """Takes the width of the model for that of keys and values."""
    return cost(sizes, length, cached_width=sizes["d_model"])


@wrong("costs", "https://github.com/rasbt/LLMs-from-scratch/issues/922", names="groups_as_divisor")
def groups_as_a_divisor(sizes, length):
    """Takes n_groups for the number of heads in a group."""
    d_key = sizes["d_model"] // sizes["n_heads"]
    return cost(sizes, length, kv_width=sizes["n_heads"] // sizes["n_groups"] * d_key)


@wrong("costs", "https://github.com/jranaraki/vllm-fit/issues/2")
def heads_times_the_width(sizes, length):
    """Multiplies the width of the model by the number of heads."""
    return cost(sizes, length, cached_width=sizes["n_heads"] * sizes["d_model"])


@wrong("costs", "https://github.com/rohitg00/ai-engineering-from-scratch/pull/57", names="cache_of_one_head")
def cache_of_one_head(sizes, length):
    """Counts a single head of keys and values."""
    return cost(sizes, length, cached_width=sizes["d_model"] // sizes["n_heads"])


@wrong("costs", "https://github.com/bigscience-workshop/Megatron-DeepSpeed/pull/283")
def operations_of_two_matrices(sizes, length):
    """Counts multiplications as for a feed-forward without a gate."""
    return cost(
        sizes, length, multiplied={"feed_forward": sizes["n_layers"] * 2 * sizes["d_model"] * sizes["d_ff"]}.items()
    )


@wrong("costs", "https://github.com/huggingface/trl/pull/6709", names="look_up")
def look_up_as_a_product(sizes, length):
    """Counts the look-up as a product with the table."""
    return cost(sizes, length, multiplied={"scores": 2 * sizes["vocab"] * sizes["d_model"]}.items())


@wrong("costs", "https://github.com/verl-project/verl/pull/6389", names="keys_alone")
def half_for_the_mask(sizes, length):
    """Halves the attention because of the causal mask, although the newest token sees all others."""
    return cost(sizes, length, attended=1)


@wrong("costs", "https://github.com/allenai/OLMo-core/pull/478", names="no_scoring")
def without_the_embeddings(sizes, length):
    """Counts the multiplications of all parameters but the table, which also makes the scores."""
    return cost(sizes, length, multiplied={"scores": 0}.items())
