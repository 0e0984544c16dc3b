"""predicted_cross_shapes: its cases and known mistakes."""

from autograder.authoring.exercise import Exercise
from solutions import cross as reference

predicted_cross_shapes = Exercise(
    reference.predicted_cross_shapes, outputs={"shapes": ""}, section="Predict the shapes"
)


def sizes(draw, **given):
    """Sizes, no two alike unless given; n_heads divides d_model."""
    n_batch, T, T_memory, n_heads, d_head = draw.sizes(5)
    d_model = n_heads * d_head
    drawn = {"n_batch": n_batch, "T": T, "T_memory": T_memory, "d_model": d_model, "d_memory": d_model + 1}
    return drawn | {"n_heads": n_heads} | given


@predicted_cross_shapes.cases("any sizes", points=1)
def _(draw):
    yield "some sizes", sizes(draw)
    yield "other sizes", sizes(draw)


@predicted_cross_shapes.cases("sizes of one", points=1)
def _(draw):
    yield "the first word of a translation", sizes(draw, T=1)
    yield "a single head", sizes(draw, n_heads=1)


@predicted_cross_shapes.mistake("turns the rectangle round")
def rectangle_turned(**sizes):
    """A row of the weights belongs to a query: T comes before T_memory. Reread 'A rectangle'."""
    right = reference.predicted_cross_shapes(**sizes)
    *first, T, T_memory = right["weights"]
    return right | {"weights": (*first, T_memory, T)}


@predicted_cross_shapes.mistake("gives the output a row for each position of the memory")
def rows_of_memory(**sizes):
    """Every query gets one answer, however long the memory is: the output has the shape of x. Reread 'A rectangle'."""
    right = reference.predicted_cross_shapes(**sizes)
    return right | {"output": (sizes["n_batch"], sizes["T_memory"], sizes["d_model"])}


@predicted_cross_shapes.mistake("takes the memory to be as wide as x")
def one_width(**sizes):
    """w_key takes the memory in, which has d_memory features, and the memory's gradient has the memory's shape. Only
    the *projected* queries and keys must agree in width. Reread 'A rectangle'."""
    right = reference.predicted_cross_shapes(**sizes)
    n_batch, T_memory, d_model = (sizes[name] for name in ("n_batch", "T_memory", "d_model"))
    return right | {"w_key": (d_model, d_model), "grad_memory": (n_batch, T_memory, d_model)}


@predicted_cross_shapes.mistake("masks the padding of the target")
def padding_of_x(**sizes):
    """The padding that must be hidden is the memory's: its columns. One row serves all queries. Reread 'The memory
    mask'."""
    return reference.predicted_cross_shapes(**sizes) | {"padding": (sizes["n_batch"], sizes["T"], 1)}
