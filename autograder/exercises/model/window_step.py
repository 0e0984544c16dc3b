import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import decoding as reference
from solutions.attention import attention
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.multihead import split_heads
from solutions.position import rotate

window_step = Exercise(
    reference.window_step,
    outputs={"output": "... 1 d_model", "keys": "... n_groups T_new d_head", "values": "... n_groups T_new d_head"},
    order=("values", "keys", "output"),
    section="A memory that stops growing",
)
wrong = short_mistakes(window_step)


def newest(draw, kept, window, place=None, *, n_heads=3, n_groups=3, batch=(), dtype=np.float64):
    """Draw a step at a place, which is the number of kept positions by default."""
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


def last(kept, window):
    return kept[..., -window:, :]


def everything(kept, window):
    return kept


def turned(rows, place):
    return rotate(rows, np.array([place]))


def unturned(rows, place):
    return rows


def stepped(
    x, params, keys, values, place, window, n_heads, *,
    at=lambda place, window, n_kept: place, turn=turned, turn_query=None, turn_value=unturned,
    keep=last, see=None, share=shared_heads, scale=lambda n_heads: 1,
):  # fmt: skip
    """Run the step with some of its parts replaced.

    at: from the place, the window and the number of kept positions to the place. turn, turn_query, turn_value: from
    rows and the place to rotated rows. keep: from all positions and the window to those that stay. see: to those that x
    sees. share: from the groups and the number of heads to the heads. scale: from the number of heads to a factor for
    the queries.
    """
    place, turn_query, see = at(place, window, keys.shape[-2]), turn_query or turn, see or keep
    query, key, value = (x @ params[f"w_{role}"] + params[f"b_{role}"] for role in ("query", "key", "value"))
    queries = turn_query(split_heads(query, n_heads), place) * x.dtype.type(scale(n_heads))
    new_values = turn_value(split_heads(value, values.shape[-3]), place)
    keys = np.concatenate([keys, turn(split_heads(key, keys.shape[-3]), place)], axis=-2)
    values = np.concatenate([values, new_values], axis=-2)
    heads, _ = attention(queries, share(see(keys, window), n_heads), share(see(values, window), n_heads))
    output = merge_heads(heads) @ params["w_output"] + params["b_output"]
    return output, keep(keys, window), keep(values, window)


wrong("one_too_many", stepped, keep=lambda kept, window: last(kept, window + 1))("""
    sees one position too many
    Once the window is full, you keep all of it and add the newest position, so x sees `window` other positions and
    itself. The window counts x, too.""")
wrong("one_too_few", stepped, keep=lambda kept, window: last(kept, max(1, window - 1)))("""
    sees one position too few
    You drop a position that is still in the window: x sees window - 1 positions. The window consists of x and the
    window - 1 positions before it.""")
wrong("never_trimmed", stepped, keep=everything)("""
    never forgets a position
    You drop nothing, so x sees all earlier positions, and the memory grows with the text. Keep the last `window`
    positions.""")
wrong("memory_grows", stepped, keep=everything, see=last)("""
    sees the window, but keeps everything
    The output is right, but what you return keeps positions that no later word can see. The memory then grows with the
    text. Return the last `window` positions only.""")
wrong("trimmed_too_late", stepped, see=everything)("""
    drops the oldest position after it was seen
    The keys and values that you return are right, but once the window is full, x sees one position too many. This
    happens if you drop the oldest position only after x has attended. Drop it first.""")
wrong("drops_one", stepped, keep=lambda kept, window: kept[..., 1:, :] if kept.shape[-2] > window else kept)("""
    drops a single position
    When more than `window` positions are there, you drop one. That suffices if every earlier step did the same. If the
    model has read the beginning all at once, more positions must go: keep the last `window`.""")
wrong("keeps_the_first", stepped, keep=lambda kept, window: kept[..., :window, :])("""
    keeps the first positions instead of the last
    When the window is full, you drop the newest position and keep the oldest. Drop the oldest: the last `window`
    positions stay.""")
wrong("place_from_memory", stepped, at=lambda place, window, n_kept: n_kept)("""
    takes the number of remembered positions for the place
    You rotate by the number of remembered positions. That is the place of x until the window is full. From then on the
    number stays the same, so all new words get the same place. Use `place`.""")
wrong("place_restarts", stepped, at=lambda place, window, n_kept: place % window)("""
    begins a new count of places with each window
    Your places begin again at 0 when a window is full. The cached keys were rotated by their places in the whole text,
    so the distances between query and keys are wrong. Use `place` as it is.""")
wrong("place_from_one", stepped, at=lambda place, window, n_kept: place + 1)("""
    counts places from 1
    You rotate x as if it were one position later. The first position is 0, as for the remembered keys.""")
wrong("place_zero", stepped, place=0)("""
    takes every word for the first one
    x comes alone, and you give it position 0, or you do not rotate it at all. Its position is `place`.""")
wrong("query_not_rotated", stepped, turn_query=unturned)("""
    rotates the keys, but not the query
    You do not rotate the query. The scores then depend on the places of the keys in the text, and not on their distance
    from x. Rotate queries and keys.""")
wrong("key_not_rotated", stepped, turn=unturned, turn_query=turned)("""
    rotates the query, but not the key
    You store the newest key without rotating it, among others that are rotated. Rotate it when it comes in. Its place
    never changes, so it stays right.""")


@window_step.mistake("pairs the two halves of a head's features")
def halves_rotated(x, params, keys, values, place, window, n_heads):
    """You rotate feature i with feature i + d_head / 2, as some libraries do. The cached keys were rotated in
    neighbouring pairs, 2i and 2i + 1, so your scores compare features that do not belong together."""

    def turn(rows, place):
        in_pairs = turned(np.stack(np.split(rows, 2, axis=-1), axis=-1).reshape(rows.shape), place)
        return np.concatenate([in_pairs[..., 0::2], in_pairs[..., 1::2]], axis=-1)

    return stepped(x, params, keys, values, place, window, n_heads, turn=turn)


wrong("values_rotated", stepped, turn_value=turned)("""
    rotates the values, too
    You rotate the newest value. Positions decide which words attend to which, through queries and keys. The value of a
    word does not depend on its position.""")


@window_step.mistake("rotates cached keys again")
def rotated_again(x, params, keys, values, place, window, n_heads):
    """The keys in the memory were rotated when they came in. You rotate them once more, so they turn further with every
    word. Rotate only the newest key."""
    return stepped(x, params, rotate(keys, place - np.arange(keys.shape[-2], 0, -1)), values, place, window, n_heads)


wrong("tiled", stepped, share=lambda kept, n_heads: np.concatenate([kept] * (n_heads // kept.shape[-3]), axis=-3))("""
    deals the groups to the heads in turn
    Neighbouring heads get the keys of different groups: the whole list of groups is repeated (`np.tile`). The first
    n_heads / n_groups heads share the first group, so repeat each group in its place (`np.repeat`).""")
wrong("first_group_for_all", stepped, share=lambda kept, n_heads: kept[..., :1, :, :].repeat(n_heads, axis=-3))("""
    gives the first group to all heads
    Every head reads the keys and values of the first group, and you never use the other groups. Each group serves
    n_heads / n_groups heads.""")


@window_step.mistake("remembers every key once for each head")
def remembers_copies(x, params, keys, values, place, window, n_heads):
    """The output is right, but you return the repeated keys and values, one for each head. The memory is then as large
    as without groups. Repeat them for the attention, but return the keys and values of each group once."""
    output, keys, values = stepped(x, params, keys, values, place, window, n_heads)
    return output, shared_heads(keys, n_heads), shared_heads(values, n_heads)


wrong(
    "not_itself",
    stepped,
    see=lambda kept, window: last(kept, window)[..., : max(1, min(kept.shape[-2], window) - 1), :],
)("""
    does not let x see itself
    x attends only to the positions before it, and you append its key and value too late. The window counts x itself:
    append before you attend. (For the first word, your output is right.)""")
wrong("scaled_by_the_model", stepped, scale=lambda n_heads: n_heads**-0.5)("""
    divides by the root of the wrong width
    You divide the scores by the root of the width of all heads together. A query and a key have d_head entries each:
    divide by the root of d_head, once.""")


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
    """Use multi-head attention with a mask over the memory; heads of a group have equal columns."""
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
