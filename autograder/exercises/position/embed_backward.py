import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import position as reference

embed_backward = Exercise(
    reference.embed_backward, outputs={"grad_table": "vocab d_model"}, section="Backwards: a scatter-add"
)
wrong = short_mistakes(embed_backward)


def arriving(draw, *shape, dtype=np.float64, d_model=None, extra=3):
    """Return a random cotangent and the cache. The first and the last token of a text are token 0, and some tokens
    never occur."""
    n_distinct, width = draw.sizes(2, low=4, high=9)
    tokens = draw.rng.integers(0, n_distinct, size=shape)
    tokens.reshape(-1)[[0, -1]] = 0
    width = width if d_model is None else d_model
    return {"grad_output": draw.normal(*shape, width, dtype=dtype), "cache": (tokens, n_distinct + extra)}


@embed_backward.cases("each token once", points=1)
def _(draw):
    vocab, width = draw.sizes(2, low=4, high=9)
    tokens = draw.rng.permutation(vocab - 1)  # the table's last row never occurs
    yield "no token twice", {"grad_output": draw.normal(vocab - 1, width), "cache": (tokens, vocab)}


@embed_backward.cases("repeated tokens and batches", points=2)
def _(draw):
    T = draw.size(4, 9)
    yield "one sentence", arriving(draw, T)
    yield "a batch", arriving(draw, 2, T)
    yield "two batch axes", arriving(draw, 3, 2, T)


@embed_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", arriving(draw, 2, 4, dtype=np.float32)
    yield "one feature", arriving(draw, 5, d_model=1)
    inputs = arriving(draw, 4)
    tokens, vocab = inputs["cache"]
    yield "one token throughout", inputs | {"cache": (np.full_like(tokens, vocab - 1), vocab)}
    yield "no tokens at all", {"grad_output": inputs["grad_output"][:0], "cache": (tokens[:0], vocab)}
    inputs = arriving(draw, 4)
    tokens, vocab = inputs["cache"]
    yield "token 0 throughout", inputs | {"cache": (np.zeros_like(tokens), vocab)}


@embed_backward.mistake("counts a repeated token once")
def repeated_once(grad_output, cache):
    """`grad[tokens] += ...` with a repeated token adds only once: NumPy reads all rows, adds, and writes all rows back,
    so the last one overwrites the others. There is no error and no warning, and the result is right if no token comes
    twice. Use `np.add.at`, which adds every time."""
    tokens, vocab = cache
    grad_table = np.zeros((vocab, grad_output.shape[-1]), grad_output.dtype)
    grad_table[tokens] += grad_output
    return grad_table * math.sqrt(grad_output.shape[-1])


def changed(grad_output, cache, *, change):
    """Apply a function to the right gradient, grad_output and the tokens."""
    return change(reference.embed_backward(grad_output, cache), grad_output, cache[0])


wrong("backward_unscaled", changed, change=lambda grad, g, tokens: (grad / math.sqrt(g.shape[-1])).astype(g.dtype))("""
    forgets the scale
    You gather the gradients correctly, but do not scale them. The forward pass multiplies by the root of d_model, so
    multiply the gradient by it, too.""")
wrong("backward_divided", changed, change=lambda grad, g, tokens: (grad / g.shape[-1]).astype(g.dtype))("""
    divides by the scale
    You divide by the root of d_model. The backward pass does not undo the forward pass: it multiplies by the same
    factor.""")


@embed_backward.mistake("averages over the places of a token")
def averaged(grad_output, cache):
    """You average the gradients that arrive at a token's places. A row that the text uses five times changes the loss
    in five ways, and these gradients add up."""
    tokens, vocab = cache
    counts = np.maximum(1, np.bincount(tokens.reshape(-1), minlength=vocab))[:, None]
    return (reference.embed_backward(grad_output, cache) / counts).astype(grad_output.dtype)


wrong("over_all_tokens", changed, change=lambda grad, g, tokens: (grad / max(1, tokens.size)).astype(g.dtype))("""
    divides by the number of tokens
    You divide the gradient by the number of tokens. If the loss is a mean, that factor is already in `grad_output`.""")


@embed_backward.mistake("looks at the last sentence only")
def last_sentence(grad_output, cache):
    """You gather only the last sentence of the batch. All sentences share the table, so gather all of them."""
    tokens, vocab = cache
    if tokens.ndim == 1:
        return reference.embed_backward(grad_output, cache)
    return reference.embed_backward(grad_output[-1], (tokens[-1], vocab))


wrong("occurring_only", changed, change=lambda grad, g, tokens: grad[np.unique(tokens)])("""
    leaves out the tokens that do not occur
    Your gradient has a row only for each token that occurs. It must have the shape of the table, with zeros for tokens
    that do not occur.""")
wrong("backward_promoted", changed, change=lambda grad, g, tokens: grad.astype(np.float64))("""
    turns float32 into float64
    `np.zeros` makes float64 unless you name a dtype. Give the gradient the dtype of `grad_output`.""")
wrong("backward_by_whole_width", changed, change=lambda grad, g, tokens: grad * math.sqrt(g.shape[-1]))("""
    scales by d_model, not its root
    You multiply the gradients by d_model. The forward pass multiplies by its root, so multiply the gradient by the
    root, too.""")


@embed_backward.mistake("gives token 0 no gradient")
def token_0_frozen(grad_output, cache):
    """Row 0 of the gradient is zero, as with `padding_idx=0` in PyTorch. This table has no padding: token 0 has a row
    like every other token, and this row learns."""
    grad_table = reference.embed_backward(grad_output, cache)
    grad_table[0] = 0
    return grad_table


@embed_backward.mistake("writes into grad_output")
def in_place(grad_output, cache):
    """The caller's grad_output has changed: `grad_output *= ...` writes into it. Make a new array, or scale what you
    have gathered."""
    grad_table = reference.embed_backward(grad_output, cache)
    grad_output *= math.sqrt(grad_output.shape[-1]) + 1
    return grad_table


@embed_backward.equivalent
def by_one_hot(grad_output, cache):
    tokens, vocab = cache
    d_model = grad_output.shape[-1]
    hot = (tokens.reshape(-1) == np.arange(vocab)[:, None]).astype(grad_output.dtype)
    return hot @ grad_output.reshape(-1, d_model) * math.sqrt(d_model)


@embed_backward.equivalent
def place_by_place(grad_output, cache):
    tokens, vocab = cache
    grad_table = np.zeros((vocab, grad_output.shape[-1]), np.result_type(grad_output, np.float16))  # also for integers
    for index in np.ndindex(tokens.shape):
        grad_table[tokens[index]] += grad_output[index] * math.sqrt(grad_output.shape[-1])
    return grad_table


@embed_backward.equivalent
def row_by_row(grad_output, cache):
    tokens, vocab = cache
    found = [grad_output[tokens == token].sum(axis=0) for token in range(vocab)]
    return np.stack(found) * grad_output.shape[-1] ** 0.5
