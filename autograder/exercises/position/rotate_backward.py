import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.position.rotate import (
    at,
    cases_of_positions,
    cases_of_the_idea,
    edge_cases,
    neighbours,
    pairs_of,
    rotate,
    speeds_of,
)
from solutions import position as reference

rotate_backward = Exercise(
    reference.rotate_backward, outputs={"grad_x": "... T d_key"}, section="Backwards: a turn back"
)
wrong = short_mistakes(rotate_backward)


@rotate_backward.cases("the idea", points=1)
def _(draw):
    yield from cases_of_the_idea(draw, "grad_rotated")


@rotate_backward.cases("other positions", points=1)
def _(draw):
    yield from cases_of_positions(draw, "grad_rotated")


@rotate_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield from edge_cases(draw, "grad_rotated")


wrong("turned_forwards", lambda grad_rotated, positions: reference.rotate(grad_rotated, positions))("""
    turns forwards once more
    The gradient turns in the same direction as the row did. The backward pass multiplies by the transpose of the
    rotation, which is the rotation by minus the angle.""")
wrong("not_turned", lambda grad_rotated, positions: grad_rotated.copy())("""
    passes the gradient on unchanged
    The gradient of x is not what arrives: each pair of x reached the output turned, so what arrives at the output must
    turn back.""")


@rotate_backward.mistake("goes through the column itself only")
def own_column_only(grad_rotated, positions):
    """You multiply by the cosine only. A column of x also reaches its partner in the output, with a sine, so a part of
    its gradient comes from there."""
    return (grad_rotated * np.repeat(np.cos(at(positions, speeds_of(grad_rotated.shape[-1]))), 2, axis=-1)).astype(
        grad_rotated.dtype
    )


def turned_back(grad_rotated, positions, *, by):
    """Turn back by a known mistake of `rotate`, given by its slug."""
    _, wrong_rotation = rotate.mistakes[by]
    return wrong_rotation(grad_rotated, -positions)


wrong("back_without_minus", turned_back, by="rotated_without_plus")("""
    has both signs plus
    Both sines have a plus. In the forward pass the second column enters the first output with a minus. So the minus is
    in the gradient of the second column: -a sin + b cos, if a and b are what arrives.""")
wrong("back_without_plus", turned_back, by="rotated_without_minus")("""
    has both signs minus
    Both sines have a minus. The minus belongs to the gradient of the second column only: a cos + b sin, and -a sin + b
    cos, if a and b are what arrives.""")
wrong("back_from_0", lambda grad_rotated, positions: reference.rotate(grad_rotated, -np.arange(len(positions))))("""
    ignores the positions it gets
    The gradients turn back by 0, 1, 2 and so on, whatever `positions` says. They must turn back by the angles of the
    forward pass.""")
wrong("back_from_one", lambda grad_rotated, positions: reference.rotate(grad_rotated, -positions - 1))("""
    counts positions from 1
    The gradient of the row at position p turns back by the angles of position p + 1. It must turn back by the angles of
    the forward pass, and a row at position 0 did not turn.""")
wrong("back_to_one", lambda grad_rotated, positions: reference.rotate(grad_rotated, 1 - positions))("""
    turns back one position too little
    The gradient of the row at position p turns back by the angles of position p - 1. It must turn back by the angles of
    the forward pass: it turns by -p, not by 1 - p.""")


@rotate_backward.mistake("divides by the cosine")
def divided_by_cosine(grad_rotated, positions):
    """You divide by the cosine, as if each column had been multiplied by it. A turn mixes the two columns of a pair,
    and the gradient multiplies by the transposed matrix."""
    cosines = np.repeat(np.cos(at(positions, speeds_of(grad_rotated.shape[-1]))), 2, axis=-1)
    return (grad_rotated / cosines).astype(grad_rotated.dtype)


wrong("back_promoted", turned_back, by="rotary_promoted")("""
    turns float32 into float64
    The cosines are float64, and so is a product with them. The gradient has the dtype of what arrives.""")
wrong("written_into_gradient", turned_back, by="written_into_x")("""
    writes into grad_rotated
    The caller's grad_rotated has changed. Make a new array.""")


@rotate_backward.equivalent
def by_transposed_matrices(grad_rotated, positions):
    d_key = grad_rotated.shape[-1]
    matrices = np.array([reference.shift_matrix(-p, d_key).T for p in positions]).reshape(-1, d_key, d_key)
    return np.einsum("...ti,tij->...tj", grad_rotated, matrices).astype(grad_rotated.dtype)


@rotate_backward.equivalent
def by_conjugate_numbers(grad_rotated, positions):
    a, b = pairs_of(grad_rotated)
    turns = np.exp(1j * at(positions, speeds_of(grad_rotated.shape[-1])))
    product = (a + 1j * b) * turns.conj()
    return neighbours(product.real, product.imag, grad_rotated.dtype)


@rotate_backward.equivalent
def column_by_column(grad_rotated, positions):
    grad_x, d_key = np.zeros_like(grad_rotated), grad_rotated.shape[-1]
    for j in range(0, d_key, 2):
        cos, sin = (f(positions / 10000 ** (j / d_key)).astype(grad_x.dtype) for f in (np.cos, np.sin))
        grad_x[..., j] = grad_rotated[..., j] * cos + grad_rotated[..., j + 1] * sin
        grad_x[..., j + 1] = grad_rotated[..., j + 1] * cos - grad_rotated[..., j] * sin
    return grad_x
