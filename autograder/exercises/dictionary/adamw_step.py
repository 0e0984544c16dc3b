import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.training.adam_step import to_move
from solutions import dictionary as reference
from solutions.parameters import map_tree
from solutions.training import adam_step

adamw_step = Exercise(
    reference.adamw_step, outputs={"params": "...", "moments": ""}, section="The optimiser", tolerance=1e-10
)
wrong = short_mistakes(adamw_step)


def to_shrink(draw, tree, **others):
    """Draw the arguments of AdamW for these parameters."""
    inputs = to_move(draw, tree, **others)
    return {"params": inputs.pop("parameters"), **inputs, "decay": float(draw.rng.uniform(0.3, 0.6))}


def a_layer(draw):
    """Draw a tree with two matrices and two gains."""
    d_model, d_ff = draw.sizes(2)
    return {
        "norm": draw.normal(d_model),
        "layers": [
            {"w_up": draw.normal(d_model, d_ff), "w_down": draw.normal(d_ff, d_model), "gain": draw.normal(d_ff)}
        ],
    }


@adamw_step.cases("a matrix", points=1)
def _(draw):
    yield "some step", to_shrink(draw, draw.normal(*draw.sizes(2)))
    yield "other constants", to_shrink(draw, draw.normal(*draw.sizes(2)), beta_1=0.7, beta_2=0.99, eps=0.05)


@adamw_step.cases("what does not shrink", points=1)
def _(draw):
    yield "a gain", to_shrink(draw, draw.normal(draw.size(3, 8)))
    yield "a layer", to_shrink(draw, a_layer(draw))


@adamw_step.cases("float32 and no decay", points=1)
def _(draw):
    yield "float32", to_shrink(draw, draw.normal(*draw.sizes(2), dtype=np.float32), least=1)
    yield "no decay", to_shrink(draw, a_layer(draw)) | {"decay": 0.0}
    yield "a layer", to_shrink(draw, a_layer(draw))


def shrunk_by(share, params, is_small=lambda array: array.ndim == 2):
    """Return the parameters without a share of the chosen arrays."""
    return map_tree(lambda a: (a * a.dtype.type(1 - share)) if is_small(a) else a, params)


def adamw(
    params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8, *,
    share=lambda rate, decay: rate * decay, is_small=lambda array: array.ndim == 2,
):  # fmt: skip
    """Run the reference with another share of decay or choice of arrays."""
    shrunk = shrunk_by(share(learning_rate, decay), params, is_small)
    return adam_step(shrunk, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


@adamw_step.mistake("adds the decay to the gradient")
def in_the_gradient(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """You add decay times the parameter to its gradient. Then Adam divides the decay by the size of the gradients, and
    its moments remember it. AdamW keeps the decay out of the gradient: let the parameter itself shrink."""
    gradients = map_tree(lambda g, p: g + p.dtype.type(decay) * p if p.ndim == 2 else g, gradients, params)
    return adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


@adamw_step.mistake("adds the decay of all arrays to the gradient")
def all_in_the_gradient(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """You add decay times the parameter to its gradient, also for gains. Then Adam divides the decay by the size of
    the gradients, and its moments remember it. AdamW lets the matrices themselves shrink, and gains not at all."""
    gradients = map_tree(lambda g, p: g + p.dtype.type(decay) * p, gradients, params)
    return adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


wrong("without_rate", adamw, share=lambda rate, decay: decay)("""
    forgets the learning rate in the decay
    A matrix loses the whole share `decay` in one step, whatever the learning rate is. It should lose decay times the
    learning rate.""")
wrong("gains_shrink", adamw, is_small=lambda array: True)("""
    lets gains shrink, too
    Arrays with one axis shrink in your step. A gain is pulled towards 0, where its feature disappears. Let only arrays
    with two axes shrink.""")
wrong("only_gains", adamw, is_small=lambda array: array.ndim == 1)("""
    lets only the gains shrink
    In your step gains shrink, and matrices do not. It should be the other way round.""")
wrong("no_decay", adamw, decay=0.0)("""
    has no decay
    Your step is Adam's. Before it, or after it, each matrix loses the share decay times the learning rate.""")
wrong("growing", adamw, share=lambda rate, decay: -rate * decay)("""
    lets the matrices grow
    You add the decay: the matrices grow in each step. Multiply them by 1 *minus* the share.""")
wrong("halved", adamw, share=lambda rate, decay: rate * decay / 2)("""
    halves the decay
    Half of the decay is missing. The paper writes the penalty as half of a square, whose slope has no half.""")
wrong("doubled", adamw, share=lambda rate, decay: 2 * rate * decay)("""
    doubles the decay
    The decay is twice as large as asked: you use it before Adam's step and again after it, or you took the slope of the
    square without its half.""")


wrong(
    "with_the_correction",
    lambda step, beta_1=0.9, beta_2=0.95, **inputs: adamw(
        **inputs, step=step, beta_1=beta_1, beta_2=beta_2,
        share=lambda rate, decay: rate * decay * (1 - beta_2**step) ** 0.5 / (1 - beta_1**step),
    ),
)("""
    corrects the decay like the moments
    You multiply the decay by a step size that contains the bias correction of the moments. The decay needs no
    correction: its share is decay times the plain learning rate.""")  # fmt: skip


@adamw_step.mistake("divides the decay by Adam's root")
def in_the_numerator(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """You add decay times the parameter to the mean of the gradients. The moments are right, but the decay is then
    divided by Adam's root, too, so weights with large gradients hardly shrink. Keep the decay out of the fraction."""
    moved, moments = adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)

    def pulled(new, old, squares):
        root = np.sqrt(squares / (1 - beta_2**step)) + eps
        return new - learning_rate * decay * old / root if old.ndim == 2 else new

    return map_tree(pulled, moved, params, moments[1]), moments


@adamw_step.mistake("takes the decay from the moved parameters")
def from_the_moved(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """You let the parameters shrink after Adam's step, so that this step shrinks as well. The decay applies to the
    parameters that you got. Shrink first, or subtract a share of the old ones."""
    moved, moments = adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return shrunk_by(learning_rate * decay, moved), moments


wrong("old_constants", lambda beta_2=0.98, eps=1e-9, **inputs: adamw(**inputs, beta_2=beta_2, eps=eps))("""
    uses the constants of 2017
    Your defaults are those of chapter 9, beta_2 = 0.98 and eps = 1e-9. This chapter asks for 0.95 and 1e-8. Or you did
    not pass them on to `adam_step`.""")


@adamw_step.mistake("does not pass the constants on")
def constants_dropped(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Whatever constants the caller asks for, you use the default ones. Pass them on."""
    return reference.adamw_step(params, gradients, moments, step, learning_rate, decay)


@adamw_step.mistake("shrinks the parameters in place")
def in_place(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """The caller's parameters have changed: `array *= ...` writes into them. Make new arrays."""
    map_tree(lambda old, new: np.copyto(old, new), params, shrunk_by(learning_rate * decay, params))
    return adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


@adamw_step.equivalent
def subtracted_afterwards(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    moved, moments = adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    taken = learning_rate * decay
    return map_tree(lambda new, old: new - taken * old if np.ndim(old) > 1 else new, moved, params), moments


@adamw_step.equivalent
def written_out(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    mean = map_tree(lambda m, g: beta_1 * m + (1 - beta_1) * g, moments[0], gradients)
    squares = map_tree(lambda v, g: beta_2 * v + (1 - beta_2) * g * g, moments[1], gradients)

    def moved(p, m, v):
        quotient = m / (1 - beta_1**step) / (np.sqrt(v / (1 - beta_2**step)) + eps)
        pull = decay * p if p.ndim == 2 else 0
        return p - learning_rate * (quotient + pull)

    return map_tree(moved, params, mean, squares), (mean, squares)


@adamw_step.equivalent
def as_two_trees(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    change, moments = adam_step(
        map_tree(np.zeros_like, params), gradients, moments, step, learning_rate, beta_1, beta_2, eps
    )
    kept = map_tree(lambda p: p - p * p.dtype.type(learning_rate * decay) if p.ndim == 2 else p, params)
    return map_tree(np.add, kept, change), moments
