import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.backward.shared import turned
from solutions import backward as reference

repaired_bilinear_backward = Exercise(
    reference.repaired_bilinear_backward,
    outputs={"grad_x": "... T d_model", "grad_a": "d_model d_model"},
    section="The proof, entry by entry",
)
wrong = short_mistakes(repaired_bilinear_backward)


def bilinear(draw, n_batch_axes=0, dtype=np.float64):
    """Draw the cotangent of x a x^T, x and a, whose sizes all differ."""
    T, d_model, *batch = draw.sizes(2 + n_batch_axes, low=3)
    return {
        "grad_scores": draw.normal(*batch, T, T, dtype=dtype),
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "a": draw.normal(d_model, d_model, dtype=dtype),
    }


@repaired_bilinear_backward.cases("every pair of positions", points=1)
def _(draw):
    inputs = bilinear(draw)
    yield "a symmetric cotangent", inputs | {"grad_scores": inputs["grad_scores"] + turned(inputs["grad_scores"])}
    yield "ones", inputs | {"grad_scores": np.ones_like(inputs["grad_scores"])}


@repaired_bilinear_backward.cases("rows and columns distinguished", points=1)
def _(draw):
    yield "one sequence", bilinear(draw)
    inputs = bilinear(draw)
    yield "scores above the diagonal only", inputs | {"grad_scores": np.triu(inputs["grad_scores"], 1)}


@repaired_bilinear_backward.cases("a batch", points=1)
def _(draw):
    inputs = bilinear(draw, 1)
    diagonal = inputs["grad_scores"] * np.eye(inputs["grad_scores"].shape[-1])
    yield "one batch axis, the diagonal alone", inputs | {"grad_scores": diagonal}
    inputs = bilinear(draw, 2)
    diagonal = inputs["grad_scores"] * np.eye(inputs["grad_scores"].shape[-1])
    yield "two batch axes, the diagonal alone", inputs | {"grad_scores": diagonal}


@repaired_bilinear_backward.cases("all of it together", points=1)
def _(draw):
    yield "one batch axis", bilinear(draw, 1)
    yield "two batch axes", bilinear(draw, 2)
    yield "float32", bilinear(draw, 1, dtype=np.float32)


def pair_by_pair(
    grad_scores, x, a, *, diagonal_only=False, columns_as_rows=False, first_item=False, diagonal_once=False
):
    """Run the chapter's loop with some of its mistakes left in."""
    grad_x, grad_a = np.zeros_like(x), np.zeros_like(a)
    for i, j in np.ndindex(grad_scores.shape[-2:]):
        if diagonal_only and i != j:
            continue
        column = (i, j) if columns_as_rows else (j, i)
        grad_x[..., i, :] += grad_scores[..., i, j, None] * (x[..., j, :] @ a.T)
        if not (diagonal_once and i == j):
            grad_x[..., i, :] += grad_scores[..., *column, None] * (x[..., j, :] @ a)
    sequences = x.reshape(-1, *x.shape[-2:])
    for own, g in zip(sequences, grad_scores.reshape(-1, *grad_scores.shape[-2:]), strict=True):
        grad_a += (sequences[0] if first_item else own).T @ g @ own
    return grad_x, grad_a


wrong("as_published", pair_by_pair, diagonal_only=True, columns_as_rows=True, first_item=True)("""
    nothing that shows is fixed yet
    Start with grad_x and one sequence. Set the diagonal of grad_scores to zero: your grad_x is zero, but the right one
    is not. Until this is fixed, no other error in grad_x is visible.""")
wrong("columns_and_item_left", pair_by_pair, columns_as_rows=True, first_item=True)("""
    one found: every pair counts; two to go
    Every pair counts now. Next, your grad_x is right if grad_scores is symmetric, and wrong otherwise. Try a
    grad_scores with a single entry above the diagonal.""")
wrong("diagonal_and_columns_left", pair_by_pair, diagonal_only=True, columns_as_rows=True)("""
    grad_a is fixed; in grad_x only the diagonal counts
    grad_a is right now. Next, set the diagonal of grad_scores to zero: your grad_x is zero, but the right one is
    not.""")
wrong("item_left", pair_by_pair, first_item=True)("""
    two found; grad_a is wrong for different sequences -> Why ones test nothing
    One mistake is left, in grad_a. Your grad_a is right for one sequence, and for a batch of copies of one sequence,
    but wrong for different sequences.""")
wrong("columns_left", pair_by_pair, columns_as_rows=True)("""
    two found; only a symmetric cotangent gives a right grad_x
    One mistake is left, in grad_x. Your grad_x is right if grad_scores is symmetric, such as a matrix of ones, and
    wrong otherwise. Try a grad_scores with a single entry above the diagonal.""")
wrong("diagonal_counted_once", pair_by_pair, diagonal_once=True)("""
    counts the diagonal entry once
    You avoid counting S_ii twice. But S_ii does contain x_i twice, as its row and as its column, and the product rule
    gives it two terms. One belongs to the row sum and one to the column sum, so you count nothing twice.""")


def with_grad_x(grad_scores, x, a, *, grad_x):
    """Return the right gradients, but compute that of x with a function of the three inputs."""
    return grad_x(grad_scores, x, a), reference.repaired_bilinear_backward(grad_scores, x, a)[1]


wrong("rows_alone", with_grad_x, grad_x=lambda grad_scores, x, a: grad_scores @ x @ a.T)("""
    keeps the rows alone
    grad_x has only the row term. x occurs in x a x^T twice, and by the product rule each place has a term of its own:
    x_i is also the *column* of S_ji.""")
wrong("columns_alone", with_grad_x, grad_x=lambda grad_scores, x, a: turned(grad_scores) @ x @ a)("""
    keeps the columns alone
    grad_x has only the column term. x occurs in x a x^T twice, and by the product rule each place has a term of its
    own: x_i is also the *row* of S_ij.""")
wrong("rows_doubled", with_grad_x, grad_x=lambda grad_scores, x, a: 2 * grad_scores @ x @ a.T)("""
    doubles the rows instead of adding the columns
    grad_x is twice the row term, as the derivative of a square is twice its factor. Here the other factor gives another
    term: the column term, with the cotangent transposed, and with a instead of a^T.""")
wrong(
    "a_taken_for_symmetric", with_grad_x, grad_x=lambda grad_scores, x, a: (grad_scores + turned(grad_scores)) @ x @ a
)("""
    takes a for symmetric
    The row term needs a^T and the column term a. You use the same matrix in both, which is right only if a is
    symmetric, and W_Q W_K^T is not.""")


@repaired_bilinear_backward.equivalent
def by_the_loop(grad_scores, x, a):
    return pair_by_pair(grad_scores, x, a)


@repaired_bilinear_backward.equivalent
def by_einsum(grad_scores, x, a):
    rows = np.einsum("...kl,...lm,nm->...kn", grad_scores, x, a)
    columns = np.einsum("...kl,...km,mn->...ln", grad_scores, x, a)
    flat, g = x.reshape(-1, *x.shape[-2:]), grad_scores.reshape(-1, *grad_scores.shape[-2:])
    return rows + columns, np.einsum("bkm,bkl,bln->mn", flat, g, flat)


@repaired_bilinear_backward.equivalent
def as_two_products(grad_scores, x, a):
    """Go back through scores = (x a) x^T: first through the outer product, then through the inner product."""
    left = x @ a
    grad_left, grad_right = grad_scores @ x, turned(grad_scores) @ left
    through, grad_a, _ = reference.linear_backward(grad_left, (x, a))
    return [through + grad_right, grad_a]
