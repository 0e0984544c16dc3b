"""predicted_mask_shapes: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.memory_mask import tiled
from autograder.exercises.masking.padding_mask import expanded
from autograder.exercises.masking.target_mask import row_after_row
from solutions import masking as reference

predicted_mask_shapes = Exercise(
    reference.predicted_mask_shapes,
    outputs={"shapes": "dict"},
    section="Which mask goes where",
)

SIZES = ("n_batch", "n_heads", "T_source", "T_target")


@predicted_mask_shapes.cases("the shapes", points=1)
def _(draw):
    yield "four different sizes", dict(zip(SIZES, draw.sizes(4), strict=True))
    yield "four other sizes", dict(zip(SIZES, draw.sizes(4, low=8, high=40), strict=True))


@predicted_mask_shapes.cases("sizes of one", points=1)
def _(draw):
    for size in SIZES:
        yield f"{size} = 1", dict(zip(SIZES, draw.sizes(4), strict=True)) | {size: 1}


@predicted_mask_shapes.mistake("gives cross-attention a row for each source token", reread="The memory mask")
def cross_transposed(**sizes):
    """In cross-attention the target asks and the source is found, so scores and mask have T_target rows and T_source
    columns."""
    n_batch, n_heads, T_source, T_target = (sizes[size] for size in SIZES)
    wrong = {"memory": (n_batch, T_source, T_target), "cross_scores": (n_batch, n_heads, T_source, T_target)}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.mistake("leaves out the queries' axis of the padding mask", reread="The padding mask")
def source_without_queries(**sizes):
    """`padding_mask` keeps an axis of length 1 for the queries; without it, NumPy would take the batch for them."""
    return reference.predicted_mask_shapes(**sizes) | {"source": (sizes["n_batch"], sizes["T_source"])}


@predicted_mask_shapes.mistake("gives the padding mask a row for each query", reread="The padding mask")
def source_in_full(**sizes):
    """All rows of a padding mask are alike, so `padding_mask` makes only one: its queries' axis has length 1."""
    n_batch, T_source = sizes["n_batch"], sizes["T_source"]
    return reference.predicted_mask_shapes(**sizes) | {"source": (n_batch, T_source, T_source)}


@predicted_mask_shapes.mistake("has no axis for the heads")
def no_axis_for_heads(**sizes):
    """Lined up from the right, the batch axis of a (n_batch, T, T) mask meets the heads' axis of the scores: an
    error, or nonsense if there are as many sentences as heads. It needs an axis of length 1 in the heads' place."""
    shapes = reference.predicted_mask_shapes(**sizes)
    return shapes | {"target_for_all_heads": shapes["target"]}


@predicted_mask_shapes.mistake("gives the memory mask a single row", reread="The memory mask")
def memory_of_one_row(**sizes):
    """`padding_mask` makes a single row of the source, and `memory_mask` repeats it for each position of the target:
    its rows count T_target."""
    wrong = {"memory": (sizes["n_batch"], 1, sizes["T_source"])}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.mistake("forgets that the target's mask holds padding, too", reread="The target mask")
def target_without_sentences(**sizes):
    """(T_target, T_target) is the causal mask alone. `target_mask` hides padding, too, and each sentence has its own:
    the batch axis is there."""
    T_target = sizes["T_target"]
    return reference.predicted_mask_shapes(**sizes) | {"target": (T_target, T_target)}


@predicted_mask_shapes.mistake("gives the scores no axis for the heads")
def scores_without_heads(**sizes):
    """Every head has scores of its own, so the heads' axis stands between the batch and the queries: (n_batch, n_heads,
    T_query, T_key)."""
    right = reference.predicted_mask_shapes(**sizes)
    wrong = {name: (sizes["n_batch"], *right[name][2:]) for name in ("encoder_scores", "cross_scores")}
    return right | wrong


@predicted_mask_shapes.mistake("copies the mask for every head")
def a_copy_for_each_head(**sizes):
    """That lines up, but it is not the smallest form: an axis of length 1 is stretched over all heads without a
    copy."""
    n_batch, n_heads, _, T_target = (sizes[size] for size in SIZES)
    wrong = {"target_for_all_heads": (n_batch, n_heads, T_target, T_target)}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.mistake("puts the heads' axis in front of the batch")
def heads_in_front(**sizes):
    """The axis of length 1 stands before the batch. Scores are (n_batch, n_heads, T_query, T_key), so your batch axis
    would meet the heads."""
    T_target = sizes["T_target"]
    wrong = {"target_for_all_heads": (1, sizes["n_batch"], T_target, T_target)}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.equivalent
def by_trying(n_batch, n_heads, T_source, T_target):
    source, target = np.ones((n_batch, T_source)), np.ones((n_batch, T_target))
    asks, found = np.ones((2, n_batch, n_heads, T_source, 1))
    asks_target = np.ones((n_batch, n_heads, T_target, 1))
    return {
        "source": expanded(source, 0).shape,
        "target": row_after_row(target, 0).shape,
        "memory": tiled(source, T_target, 0).shape,
        "encoder_scores": (asks @ found.swapaxes(-1, -2)).shape,
        "cross_scores": (asks_target @ found.swapaxes(-1, -2)).shape,
        "target_for_all_heads": row_after_row(target, 0)[:, None].shape,
    }
