"""repaired_bilinear_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.backward.shared import turned
from solutions import backward as reference

repaired_bilinear_backward = Exercise(
    reference.repaired_bilinear_backward,
    outputs={"grad_x": "... T d_model", "grad_a": "d_model d_model"},
    section="The proof, entry by entry",
)


def bilinear(draw, n_batch_axes=0, dtype=np.float64):
    """Return the cotangent of x a x^T, x and a, with no two sizes alike."""
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
    """The chapter's loop with any of its mistakes left in."""
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


@repaired_bilinear_backward.mistake("nothing that shows is fixed yet")
def as_published(grad_scores, x, a):
    """Start with the condition: which entries of the scores hold x_i? All of row i and all of column i, not only the
    entry where they cross. While only this entry counts, no other error in grad_x is visible."""
    return pair_by_pair(grad_scores, x, a, diagonal_only=True, columns_as_rows=True, first_item=True)


@repaired_bilinear_backward.mistake("one found: every pair counts; two to go")
def columns_and_item_left(grad_scores, x, a):
    """Every pair counts now. Next: x_i is in S_ij as a row and in S_ji as a column, and these are two entries, with two
    gradients."""
    return pair_by_pair(grad_scores, x, a, columns_as_rows=True, first_item=True)


@repaired_bilinear_backward.mistake("grad_a is fixed; in grad_x only the diagonal counts")
def diagonal_and_columns_left(grad_scores, x, a):
    """grad_a is right now. Next, in grad_x: which entries of the scores hold x_i? S_kl is free of x_i only if k differs
    from i *and* l differs from i, so all of row i and all of column i hold it."""
    return pair_by_pair(grad_scores, x, a, diagonal_only=True, columns_as_rows=True)


@repaired_bilinear_backward.mistake(
    "two found; the batch still leans on its first item", reread="A check that is blind"
)
def item_left(grad_scores, x, a):
    """One mistake is left, in grad_a: an index that is the same for every item of the batch. With copies of one
    sequence a test would not notice it."""
    return pair_by_pair(grad_scores, x, a, first_item=True)


@repaired_bilinear_backward.mistake("two found; a column still reads the row's entry")
def columns_left(grad_scores, x, a):
    """One is left: the column term takes the gradient of S_ij, and x_i is the column of S_ji. With a symmetric
    cotangent, such as one of ones, a test would not notice it."""
    return pair_by_pair(grad_scores, x, a, columns_as_rows=True)


@repaired_bilinear_backward.mistake("counts the diagonal entry once")
def diagonal_counted_once(grad_scores, x, a):
    """You have taken care not to count S_ii twice. But it does hold x_i twice, as its row and as its column, and the
    product rule gives it two terms: one belongs to the row sum, one to the column sum. Nothing is counted twice."""
    return pair_by_pair(grad_scores, x, a, diagonal_once=True)


@repaired_bilinear_backward.mistake("keeps the rows alone")
def rows_alone(grad_scores, x, a):
    """grad_x has the row term alone. x occurs in x a x^T twice, and by the product rule each place has a term of its
    own: x_i is also the *column* of S_ji."""
    return grad_scores @ x @ a.T, reference.repaired_bilinear_backward(grad_scores, x, a)[1]


@repaired_bilinear_backward.mistake("keeps the columns alone")
def columns_alone(grad_scores, x, a):
    """grad_x has the column term alone. x occurs in x a x^T twice, and by the product rule each place has a term of its
    own: x_i is also the *row* of S_ij."""
    return turned(grad_scores) @ x @ a, reference.repaired_bilinear_backward(grad_scores, x, a)[1]


@repaired_bilinear_backward.mistake("doubles the rows instead of adding the columns")
def rows_doubled(grad_scores, x, a):
    """grad_x is twice the row term, as the derivative of a square is twice its factor. Here the other factor gives
    another term: the column term, with the cotangent transposed, and with a where the row term has a^T."""
    return 2 * grad_scores @ x @ a.T, reference.repaired_bilinear_backward(grad_scores, x, a)[1]


@repaired_bilinear_backward.mistake("takes a for symmetric")
def a_taken_for_symmetric(grad_scores, x, a):
    """The row term needs a^T and the column term a. You use the same matrix in both, which is right only if a is
    symmetric, and W_Q W_K^T is not."""
    both = grad_scores + turned(grad_scores)
    return both @ x @ a, reference.repaired_bilinear_backward(grad_scores, x, a)[1]


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
    """scores = (x a) x^T: first the outer product, then the inner one."""
    left = x @ a
    grad_left, grad_right = grad_scores @ x, turned(grad_scores) @ left
    through, grad_a, _ = reference.linear_backward(grad_left, (x, a))
    return [through + grad_right, grad_a]
