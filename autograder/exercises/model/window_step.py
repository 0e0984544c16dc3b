"""window_step: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import decoding as reference
from solutions.attention import attention
from solutions.heads import merge_heads
from solutions.masking import masked_attention
from solutions.multihead import split_heads
from solutions.rotary import rotate

window_step = Exercise(
    reference.window_step,
    outputs={
        "output": "... 1 d_model",
        "keys": "... n_groups T_new d_head",
        "values": "... n_groups T_new d_head",
    },
    order=("values", "keys", "output"),
    section="A memory that stops growing",
)


def newest(draw, kept, window, place=None, *, n_heads=3, n_groups=3, batch=(), dtype=np.float64):
    """Return a step at a place, the number of kept positions by default."""
    d_model, d_head = 7, 4
    widths = {"query": n_heads * d_head, "key": n_groups * d_head, "value": n_groups * d_head}
    params = {f"w_{role}": 0.6 * draw.normal(d_model, width) for role, width in widths.items()}
    params |= {f"b_{role}": draw.normal(width) for role, width in widths.items()}
    params |= {"w_output": draw.normal(n_heads * d_head, d_model), "b_output": draw.normal(d_model)}
    inputs = {
        "x": draw.normal(*batch, 1, d_model),
        "params": {name: array.astype(dtype) for name, array in params.items()},
        "keys": draw.normal(*batch, n_groups, kept, d_head),
        "values": draw.normal(*batch, n_groups, kept, d_head),
    }
    inputs |= {name: inputs[name].astype(dtype) for name in ("x", "keys", "values")}
    return inputs | {"place": kept if place is None else place, "window": window, "n_heads": n_heads}


@window_step.cases("a short text", points=1)
def _(draw):
    yield "the sixth word", newest(draw, 5, 8)
    yield "the third word of two sentences", newest(draw, 2, 6, batch=(2,))
    yield "the first word", newest(draw, 0, 5)


@window_step.cases("the window", points=2)
def _(draw):
    yield "the word that fills the window", newest(draw, 4, 5)
    yield "the first word after a full window", newest(draw, 5, 5)
    yield "a late word", newest(draw, 6, 6, 211)
    yield "a late word of two sentences", newest(draw, 3, 3, 40, batch=(2,))
    yield "after eight words that were read at once", newest(draw, 8, 4)


@window_step.cases("shared keys and values", points=1)
def _(draw):
    yield "six heads, two groups", newest(draw, 3, 7, n_heads=6, n_groups=2)
    yield "six heads, three groups", newest(draw, 4, 7, n_heads=6, batch=(2,))
    yield "four heads, one group", newest(draw, 4, 7, n_heads=4, n_groups=1)


@window_step.cases("everything together", points=1)
def _(draw):
    yield "a late word, two groups", newest(draw, 4, 4, 53, n_heads=4, n_groups=2)
    yield "a window of one", newest(draw, 1, 1, 9, n_heads=4, n_groups=2)
    yield "two batch axes", newest(draw, 4, 4, 30, n_heads=4, n_groups=2, batch=(2, 3))
    yield "float32", newest(draw, 5, 5, 17, n_heads=4, n_groups=2, dtype=np.float32)


def shared_heads(kept, n_heads):
    return kept.repeat(n_heads // kept.shape[-3], axis=-3)


def last(window):
    return lambda kept: kept[..., -window:, :]


def stepped(x, params, keys, values, place, window, n_heads, **put):
    """The step with its parts replaced.

    put: `turn`, `turn_query` and `turn_value`, from rows to rotated rows; `keep`, from all positions to those that
    stay; `see`, from all positions to those that are seen; `share`, from the groups and the number of heads to the
    heads; `scale`, a factor of the queries.
    """
    turn = put.get("turn", lambda rows: rotate(rows, np.array([place])))
    keep = put.get("keep", last(window))
    see = put.get("see", keep)
    share = put.get("share", shared_heads)
    query, key, value = (x @ params[f"w_{role}"] + params[f"b_{role}"] for role in ("query", "key", "value"))
    queries = put.get("turn_query", turn)(split_heads(query, n_heads)) * x.dtype.type(put.get("scale", 1))
    new_values = put.get("turn_value", lambda rows: rows)(split_heads(value, values.shape[-3]))
    keys = np.concatenate([keys, turn(split_heads(key, keys.shape[-3]))], axis=-2)
    values = np.concatenate([values, new_values], axis=-2)
    heads, _ = attention(queries, share(see(keys), n_heads), share(see(values), n_heads))
    output = merge_heads(heads) @ params["w_output"] + params["b_output"]
    return output, keep(keys), keep(values)


@window_step.mistake("sees one position too many")
def one_too_many(x, params, keys, values, place, window, n_heads):
    """Once the window is full, you keep all of it and add the newest position, so x sees `window` others and itself.
    The window counts x, too."""
    return stepped(x, params, keys, values, place, window, n_heads, keep=last(window + 1))


@window_step.mistake("sees one position too few")
def one_too_few(x, params, keys, values, place, window, n_heads):
    """You drop a position that is still in the window: x sees window - 1 positions. The window consists of x and the
    window - 1 positions before it."""
    return stepped(
        x, params, keys, values, place, window, n_heads, keep=lambda kept: kept[..., -max(1, window - 1) :, :]
    )


@window_step.mistake("never forgets a position")
def never_trimmed(x, params, keys, values, place, window, n_heads):
    """You drop nothing: x sees everything that is remembered, and the memory grows with the text. Keep the last
    `window` positions."""
    return stepped(x, params, keys, values, place, window, n_heads, keep=lambda kept: kept)


@window_step.mistake("sees the window, but keeps everything")
def memory_grows(x, params, keys, values, place, window, n_heads):
    """The output is right, but what you return keeps positions that no later word can see. The memory then grows with
    the text. Return the last `window` positions only."""
    return stepped(x, params, keys, values, place, window, n_heads, keep=lambda kept: kept, see=last(window))


@window_step.mistake("drops the oldest position after it was seen")
def trimmed_too_late(x, params, keys, values, place, window, n_heads):
    """The keys and values that you return are right, but once the window is full, x sees one position too many. This
    happens if you drop the oldest position only after x has attended. Drop it first."""
    return stepped(x, params, keys, values, place, window, n_heads, see=lambda kept: kept)


@window_step.mistake("drops a single position")
def drops_one(x, params, keys, values, place, window, n_heads):
    """When more than `window` positions are there, you drop one. That suffices as long as every earlier step has done
    the same. After a beginning that was read all at once, more positions must go: keep the last `window`."""

    def without_the_oldest(kept):
        return kept[..., 1:, :] if kept.shape[-2] > window else kept

    return stepped(x, params, keys, values, place, window, n_heads, keep=without_the_oldest)


@window_step.mistake("keeps the first positions in place of the last")
def keeps_the_first(x, params, keys, values, place, window, n_heads):
    """When the window is full, the newest position is dropped and the oldest one stays. Drop the oldest: the last
    `window` positions stay."""
    return stepped(x, params, keys, values, place, window, n_heads, keep=lambda kept: kept[..., :window, :])


@window_step.mistake("takes the number of remembered positions for the place")
def place_from_memory(x, params, keys, values, place, window, n_heads):
    """You rotate by the number of remembered positions. That is the place of x until the window is full. From then on
    the number stays the same, but the text goes on: all new words seem to be at the same place. Use `place`."""
    return stepped(x, params, keys, values, keys.shape[-2], window, n_heads)


@window_step.mistake("begins a new count of places with each window")
def place_restarts(x, params, keys, values, place, window, n_heads):
    """Your places begin again at 0 when a window is full. The cached keys were rotated by their places in the whole
    text, so the distances between query and keys are wrong. Use `place` as it is."""
    return stepped(x, params, keys, values, place % window, window, n_heads)


@window_step.mistake("counts places from 1")
def place_from_one(x, params, keys, values, place, window, n_heads):
    """You rotate x as if it were one position later. The first position is 0, as for the remembered keys."""
    return stepped(x, params, keys, values, place + 1, window, n_heads)


@window_step.mistake("takes every word for the first one")
def place_zero(x, params, keys, values, place, window, n_heads):
    """x comes alone, and you give it position 0, or you do not rotate it at all. Its position is `place`."""
    return stepped(x, params, keys, values, 0, window, n_heads)


@window_step.mistake("rotates the keys, but not the query")
def query_not_rotated(x, params, keys, values, place, window, n_heads):
    """You do not rotate the query. The scores then depend on the places of the keys in the text, and not on their
    distance from x. Rotate queries and keys."""
    return stepped(x, params, keys, values, place, window, n_heads, turn_query=lambda rows: rows)


@window_step.mistake("rotates the query, but not the key")
def key_not_rotated(x, params, keys, values, place, window, n_heads):
    """You store the newest key without rotating it, among others that are rotated. Rotate it when it comes in. Its
    place never changes, so it stays right."""

    def turned(rows):
        return rotate(rows, np.array([place]))

    return stepped(x, params, keys, values, place, window, n_heads, turn=lambda rows: rows, turn_query=turned)


@window_step.mistake("rotates the values, too")
def values_rotated(x, params, keys, values, place, window, n_heads):
    """You rotate the newest value. Positions decide which words attend to which, through queries and keys. What a word
    hands over does not depend on its position."""
    return stepped(
        x, params, keys, values, place, window, n_heads, turn_value=lambda rows: rotate(rows, np.array([place]))
    )


@window_step.mistake("rotates cached keys again")
def rotated_again(x, params, keys, values, place, window, n_heads):
    """The keys in the memory were rotated when they came in. You rotate them once more, so they turn further with every
    word. Rotate the newest key alone."""
    return stepped(x, params, rotate(keys, place - np.arange(keys.shape[-2], 0, -1)), values, place, window, n_heads)


@window_step.mistake("deals the groups to the heads in turn")
def tiled(x, params, keys, values, place, window, n_heads):
    """Neighbouring heads get the keys of different groups: the whole list of groups is repeated (`np.tile`). The first
    n_heads / n_groups heads share the first group, so each group is repeated in its place (`np.repeat`)."""

    def dealt(kept, n_heads):
        return np.concatenate([kept] * (n_heads // kept.shape[-3]), axis=-3)

    return stepped(x, params, keys, values, place, window, n_heads, share=dealt)


@window_step.mistake("gives the first group to all heads")
def first_group_for_all(x, params, keys, values, place, window, n_heads):
    """Every head reads the keys and values of the first group, and the other groups are remembered for nothing. Each
    group serves n_heads / n_groups heads."""
    return stepped(
        *(x, params, keys, values, place, window, n_heads),
        share=lambda kept, n_heads: kept[..., :1, :, :].repeat(n_heads, axis=-3),
    )


@window_step.mistake("remembers every key once for each head")
def remembers_copies(x, params, keys, values, place, window, n_heads):
    """The output is right, but you return the repeated keys and values, one for each head. The memory is then as large
    as without groups. Repeat them for the attention, and return one for each group."""
    output, keys, values = stepped(x, params, keys, values, place, window, n_heads)
    return output, shared_heads(keys, n_heads), shared_heads(values, n_heads)


@window_step.mistake("does not let x see itself")
def not_itself(x, params, keys, values, place, window, n_heads):
    """x attends to the positions before it only, and its own key and value join the memory too late. The window counts
    x itself: append before you attend. (For the first word you return what x sees if it is alone.)"""

    def others(kept):
        seen = kept[..., -window:, :]
        return seen[..., :-1, :] if seen.shape[-2] > 1 else seen

    return stepped(x, params, keys, values, place, window, n_heads, see=others)


@window_step.mistake("divides by the root of the wrong width")
def scaled_by_the_model(x, params, keys, values, place, window, n_heads):
    """You divide the scores by the root of the width of all heads together. A query and a key have d_head entries each:
    divide by the root of d_head, once."""
    return stepped(x, params, keys, values, place, window, n_heads, scale=n_heads**-0.5)


@window_step.equivalent
def by_broadcasting(x, params, keys, values, place, window, n_heads):
    *batch, n_groups, _, d_head = keys.shape
    here = np.array([place])
    query, key, value = (x @ params[f"w_{role}"] + params[f"b_{role}"] for role in ("query", "key", "value"))
    keys = np.concatenate([keys, rotate(split_heads(key, n_groups), here)], axis=-2)[..., -window:, :]
    values = np.concatenate([values, split_heads(value, n_groups)], axis=-2)[..., -window:, :]
    queries = rotate(query.reshape(*batch, n_groups, n_heads // n_groups, 1, d_head), here)
    heads, _ = attention(queries, keys[..., np.newaxis, :, :], values[..., np.newaxis, :, :])
    return heads.reshape(*batch, 1, n_heads * d_head) @ params["w_output"] + params["b_output"], keys, values


@window_step.equivalent
def head_by_head(x, params, keys, values, place, window, n_heads):
    n_groups, d_head = keys.shape[-3], keys.shape[-1]
    wide, narrow = np.arange(n_heads * d_head).reshape(n_heads, -1), np.arange(n_groups * d_head).reshape(n_groups, -1)
    here, kept = np.array([place]), min(keys.shape[-2], window - 1)
    first = keys.shape[-2] - kept
    new_keys, new_values, found = [], [], []
    for g, own in enumerate(narrow):
        key = rotate(x @ params["w_key"][:, own] + params["b_key"][own], here)
        value = x @ params["w_value"][:, own] + params["b_value"][own]
        new_keys.append(np.concatenate([keys[..., g, first:, :], key], axis=-2))
        new_values.append(np.concatenate([values[..., g, first:, :], value], axis=-2))
    for h, own in enumerate(wide):
        g = h * n_groups // n_heads
        query = rotate(x @ params["w_query"][:, own] + params["b_query"][own], here)
        found.append(attention(query, new_keys[g], new_values[g])[0])
    output = np.concatenate(found, axis=-1) @ params["w_output"] + params["b_output"]
    return output, np.stack(new_keys, axis=-3), np.stack(new_values, axis=-3)


@window_step.equivalent
def by_copied_columns(x, params, keys, values, place, window, n_heads):
    """Multi-head attention with a mask over the memory: heads of one group have equal columns."""
    n_groups, kept, d_head = keys.shape[-3:]
    share, here = n_heads // n_groups, np.array([place])

    def columns(weights):
        blocks = weights.reshape(*weights.shape[:-1], n_groups, d_head)
        return np.repeat(blocks, share, axis=-2).reshape(*weights.shape[:-1], n_heads * d_head)

    query = split_heads(x @ params["w_query"] + params["b_query"], n_heads)
    key = rotate(split_heads(x @ columns(params["w_key"]) + columns(params["b_key"]), n_heads), here)
    value = split_heads(x @ columns(params["w_value"]) + columns(params["b_value"]), n_heads)
    keys = np.concatenate([keys.repeat(share, axis=-3), key], axis=-2)
    values = np.concatenate([values.repeat(share, axis=-3), value], axis=-2)
    seen = np.arange(kept + 1)[np.newaxis] > kept - window
    heads, _ = masked_attention(rotate(query, here), keys, values, seen)
    output = merge_heads(heads) @ params["w_output"] + params["b_output"]
    stays = slice(-window, None)
    return output, keys[..., ::share, stays, :].copy(), values[..., ::share, stays, :].copy()
