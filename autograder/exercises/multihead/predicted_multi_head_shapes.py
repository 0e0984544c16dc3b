"""predicted_multi_head_shapes: its cases and known mistakes."""

from autograder.authoring.exercise import Exercise
from solutions import multihead as reference

predicted_multi_head_shapes = Exercise(
    reference.predicted_multi_head_shapes,
    outputs={"shapes": ""},
    section="Predict the shapes",
)


def layer_sizes(draw, **given):
    """Sizes of a layer, no two alike unless given; n_heads divides d_model."""
    n_batch, T_query, T_key, n_heads, d_head = draw.sizes(5)
    sizes = {"n_batch": n_batch, "T_query": T_query, "T_key": T_key, "d_model": n_heads * d_head, "n_heads": n_heads}
    return sizes | given


@predicted_multi_head_shapes.cases("any sizes", points=2)
def _(draw):
    yield "some sizes", layer_sizes(draw)
    yield "other sizes", layer_sizes(draw)


@predicted_multi_head_shapes.cases("sizes of one", points=1)
def _(draw):
    yield "a single head", layer_sizes(draw, n_heads=1)
    yield "a single sentence", layer_sizes(draw, n_batch=1)


def shapes_but(sizes, **wrong):
    """The right shapes, some replaced."""
    return reference.predicted_multi_head_shapes(**sizes) | wrong


@predicted_multi_head_shapes.mistake(
    "gives every head all the features", reread="What one head costs, and how it is scaled"
)
def full_width_heads(**sizes):
    """The projections make d_model features for all heads *together*: each head has d_model // n_heads of them, which
    is why many heads cost no more than one."""
    per_position = (sizes["n_batch"], sizes["n_heads"]), (sizes["d_model"],)
    queries, keys = (per_position[0] + (sizes[T],) + per_position[1] for T in ("T_query", "T_key"))
    return shapes_but(sizes, queries=queries, keys=keys, attended=queries)


@predicted_multi_head_shapes.mistake("leaves the heads behind the positions", reread="From the loop to an axis")
def heads_behind_positions(**sizes):
    """The heads stand before the positions, so that the last two axes are one head's matrix."""
    right = shapes_but(sizes)
    moved = {name: tuple(right[name][i] for i in (0, 2, 1, 3)) for name in ("queries", "keys", "attended")}
    return right | moved


@predicted_multi_head_shapes.mistake("has one matrix of weights for all heads", reread="One picture for each head")
def weights_without_heads(**sizes):
    """Each head has weights of its own: (n_batch, n_heads, T_query, T_key). What nn.MultiheadAttention returns by
    default is their average."""
    return shapes_but(sizes, weights=(sizes["n_batch"], sizes["T_query"], sizes["T_key"]))


@predicted_multi_head_shapes.mistake("keeps an axis for the average over the heads", reread="One picture for each head")
def average_keeps_heads(**sizes):
    """A mean over the heads takes their axis away. (With keepdims=True a 1 would be left, but nobody asked for it.)"""
    right = shapes_but(sizes)
    return right | {"averaged_weights": right["weights"]}


@predicted_multi_head_shapes.mistake("makes the output as wide as one head", reread="Why the heads are concatenated")
def output_of_one_head(**sizes):
    """The heads are put beside each other, not averaged: merged they have d_model features again."""
    narrow = (sizes["n_batch"], sizes["T_query"], sizes["d_model"] // sizes["n_heads"])
    return shapes_but(sizes, merged=narrow, output=narrow)


@predicted_multi_head_shapes.mistake("turns the weights round", reread="One picture for each head")
def weights_turned(**sizes):
    """A row of the weights belongs to a query, so T_query comes before T_key."""
    n_batch, n_heads, T_query, T_key = (sizes[name] for name in ("n_batch", "n_heads", "T_query", "T_key"))
    turned_round = {"weights": (n_batch, n_heads, T_key, T_query), "averaged_weights": (n_batch, T_key, T_query)}
    return shapes_but(sizes, **turned_round)


@predicted_multi_head_shapes.mistake("splits the heads before it projects them", reread="From the loop to an axis")
def split_too_early(**sizes):
    """ "Projected" comes before "split": the projection makes all heads' features side by side, (n_batch, T_key,
    d_model), and the heads get an axis afterwards."""
    right = shapes_but(sizes)
    return right | {"projected_keys": right["keys"]}


@predicted_multi_head_shapes.mistake("leaves out the batch", reread="The whole layer")
def without_the_batch(**sizes):
    """These are the shapes for one sentence. Every sentence of the batch goes through on its own: the batch axis stays
    in front."""
    return {name: shape[1:] for name, shape in shapes_but(sizes).items()}


@predicted_multi_head_shapes.mistake("gives the output a row for each key", reread="The whole layer")
def output_for_keys(**sizes):
    """The keys are what is averaged over: every head gives one answer for each *query*, and so does the layer."""
    n_batch, T_key, d_model, n_heads = (sizes[name] for name in ("n_batch", "T_key", "d_model", "n_heads"))
    rows = (n_batch, T_key, d_model)
    return shapes_but(sizes, attended=(n_batch, n_heads, T_key, d_model // n_heads), merged=rows, output=rows)
