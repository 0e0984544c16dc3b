import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.training.adam_step import to_move
from solutions import dictionary as reference
from solutions.parameters import map_tree
from solutions.training import adam_step

adamw_step = Exercise(
    reference.adamw_step, outputs={"params": "...", "moments": ""}, section="The optimiser", tolerance=1e-10
)


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


def adamw(share=None, is_small=lambda array: array.ndim == 2, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """Return an AdamW whose share of decay, choice of arrays or default constants differ."""

    def function(params, gradients, moments, step, learning_rate, decay, beta_1=beta_1, beta_2=beta_2, eps=eps):
        taken = (share or (lambda rate, decay, step: rate * decay))(learning_rate, decay, step)
        shrunk = shrunk_by(taken, params, is_small)
        return adam_step(shrunk, gradients, moments, step, learning_rate, beta_1, beta_2, eps)

    return function


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


@adamw_step.mistake("forgets the learning rate in the decay")
def without_rate(**asked):
    """A matrix loses the whole share `decay` in one step, whatever the learning rate is. It should lose decay times the
    learning rate."""
    return adamw(share=lambda rate, decay, step: decay)(**asked)


@adamw_step.mistake("lets gains shrink, too")
def gains_shrink(**asked):
    """Arrays with one axis shrink in your step. A gain is pulled towards 0, where its feature disappears. Let only
    arrays with two axes shrink."""
    return adamw(is_small=lambda array: True)(**asked)


@adamw_step.mistake("lets only the gains shrink")
def only_gains(**asked):
    """In your step gains shrink, and matrices do not. It should be the other way round."""
    return adamw(is_small=lambda array: array.ndim == 1)(**asked)


@adamw_step.mistake("has no decay")
def no_decay(**asked):
    """Your step is Adam's. Before it, or after it, each matrix loses the share decay times the learning rate."""
    return adamw(share=lambda rate, decay, step: 0.0)(**asked)


@adamw_step.mistake("lets the matrices grow")
def growing(**asked):
    """You add the decay: the matrices grow in each step. Multiply them by 1 *minus* the share."""
    return adamw(share=lambda rate, decay, step: -rate * decay)(**asked)


@adamw_step.mistake("halves the decay")
def halved(**asked):
    """Half of the decay is missing. The paper writes the penalty as half of a square, whose slope has no half."""
    return adamw(share=lambda rate, decay, step: rate * decay / 2)(**asked)


@adamw_step.mistake("doubles the decay")
def doubled(**asked):
    """The decay is twice as large as asked: you use it before Adam's step and again after it, or you took the slope of
    the square without its half."""
    return adamw(share=lambda rate, decay, step: 2 * rate * decay)(**asked)


@adamw_step.mistake("takes the decay from the moved parameters")
def from_the_moved(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """You let the parameters shrink after Adam's step, so that this step shrinks as well. The decay applies to the
    parameters that you got. Shrink first, or subtract a share of the old ones."""
    moved, moments = adam_step(params, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return shrunk_by(learning_rate * decay, moved), moments


@adamw_step.mistake("uses the constants of 2017")
def old_constants(**asked):
    """Your defaults are those of chapter 9, beta_2 = 0.98 and eps = 1e-9. This chapter asks for 0.95 and 1e-8. Or you
    did not pass them on to `adam_step`."""
    return adamw(beta_2=0.98, eps=1e-9)(**asked)


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
