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


@predicted_cross_shapes.mistake("turns the rectangle round", reread="A rectangle")
def rectangle_turned(**sizes):
    """A row of the weights belongs to a query: T comes before T_memory."""
    right = reference.predicted_cross_shapes(**sizes)
    *first, T, T_memory = right["weights"]
    return right | {"weights": (*first, T_memory, T)}


@predicted_cross_shapes.mistake("gives the output a row for each position of the memory", reread="A rectangle")
def rows_of_memory(**sizes):
    """Every query gets one answer, however long the memory is: the output has the shape of x."""
    right = reference.predicted_cross_shapes(**sizes)
    return right | {"output": (sizes["n_batch"], sizes["T_memory"], sizes["d_model"])}


@predicted_cross_shapes.mistake("takes the memory to be as wide as x", reread="A rectangle")
def one_width(**sizes):
    """w_key takes the memory in, which has d_memory features, and the memory's gradient has the memory's shape. Only
    the *projected* queries and keys must agree in width."""
    right = reference.predicted_cross_shapes(**sizes)
    n_batch, T_memory, d_model = (sizes[name] for name in ("n_batch", "T_memory", "d_model"))
    return right | {"w_key": (d_model, d_model), "grad_memory": (n_batch, T_memory, d_model)}


@predicted_cross_shapes.mistake("masks the padding of the target", reread="The memory mask")
def padding_of_x(**sizes):
    """The padding that must be hidden is the memory's: its columns. One row serves all queries."""
    return reference.predicted_cross_shapes(**sizes) | {"padding": (sizes["n_batch"], sizes["T"], 1)}


@predicted_cross_shapes.mistake("writes the weights the other way round", reread="A rectangle")
def weights_turned(**sizes):
    """Your weights are (d_out, d_in), as PyTorch keeps them. In this book vectors are rows, x @ w: what goes in comes
    first, what comes out second."""
    right = reference.predicted_cross_shapes(**sizes)
    return right | {"w_key": right["w_key"][::-1]}


@predicted_cross_shapes.mistake("gives every head the whole width", reread="Many heads, by reuse")
def whole_width(**sizes):
    """The last axis of your queries and keys is d_model. The heads share it out: each has d_model / n_heads."""
    right = reference.predicted_cross_shapes(**sizes)
    return right | {name: (*right[name][:-1], sizes["d_model"]) for name in ("queries", "keys")}


@predicted_cross_shapes.mistake("puts the heads behind the positions", reread="Many heads, by reuse")
def heads_behind(**sizes):
    """Queries and keys are (n_batch, positions, n_heads, ...), as they are before the two axes are exchanged. A head
    works like a batch: its axis stands before the positions."""
    right = reference.predicted_cross_shapes(**sizes)

    def exchanged(name):
        n_batch, n_heads, T, d_head = right[name]
        return n_batch, T, n_heads, d_head

    return right | {name: exchanged(name) for name in ("queries", "keys")}


@predicted_cross_shapes.mistake("has as many keys as queries", reread="A rectangle")
def keys_of_x(**sizes):
    """There is a key for each position of the *memory*, however many queries there are: T_memory of them."""
    right = reference.predicted_cross_shapes(**sizes)
    return right | {"keys": right["queries"]}


@predicted_cross_shapes.mistake("has one set of weights for all heads", reread="Many heads, by reuse")
def weights_without_heads(**sizes):
    """Your attention weights have no axis for the heads. Each head looks for itself, so each has a rectangle of its
    own."""
    n_batch, _, T, T_memory = reference.predicted_cross_shapes(**sizes)["weights"]
    return reference.predicted_cross_shapes(**sizes) | {"weights": (n_batch, T, T_memory)}


@predicted_cross_shapes.mistake("makes the memory's gradient as wide as x", reread="Two gradients come back")
def narrow_gradient(**sizes):
    """A gradient has the shape of its array, and the memory is d_memory wide."""
    grad_memory = sizes["n_batch"], sizes["T_memory"], sizes["d_model"]
    return reference.predicted_cross_shapes(**sizes) | {"grad_memory": grad_memory}


@predicted_cross_shapes.mistake("lacks the axis of the queries in the padding mask", reread="The memory mask")
def padding_without_axis(**sizes):
    """(n_batch, T_memory) lines up from the right: its n_batch would stand where the queries are. The mask needs an
    axis of one for them, between the two."""
    return reference.predicted_cross_shapes(**sizes) | {"padding": (sizes["n_batch"], sizes["T_memory"])}
