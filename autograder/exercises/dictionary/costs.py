import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import dictionary as reference
from solutions.definer_parameters import fresh_definer
from solutions.parameters import count, leaves

costs = Exercise(
    reference.costs, outputs={"parameters": "", "operations": "", "cached": ""}, section="What a model costs"
)
wrong = short_mistakes(costs)


def sizes_of(draw, **fixed):
    """Draw sizes that all differ."""
    n_heads = 6
    n_groups = draw.size(2, 4)
    vocab, d_ff = draw.sizes(2, low=50, high=90)
    return {
        "sizes": {
            "vocab": vocab,
            "d_model": n_heads * draw.size(3, 7),
            "d_ff": d_ff,
            "n_layers": draw.size(4, 6),
            "n_heads": n_heads,
            "n_groups": n_groups,
        }
        | fixed,
        "length": draw.size(10, 20),
    }


def parts(sizes, length, **changed):
    """Return what the three numbers consist of; `changed` replaces some parts."""
    d_model, n_heads = sizes["d_model"], sizes["n_heads"]
    width = sizes["n_groups"] * (d_model // n_heads)
    usual = {
        "table": sizes["vocab"] * d_model,
        "attention": 2 * d_model * d_model + 2 * d_model * width,
        "feed_forward": 3 * d_model * sizes["d_ff"],
        "gains": 2 * d_model,
        "last_gain": d_model,
        "scoring": sizes["vocab"] * d_model,
        "attending": 2 * d_model * length,
        "cached": 2 * width * length,
        "n_layers": sizes["n_layers"],
    }
    return usual | changed


def added_up(sizes, length, **changed):
    part = parts(sizes, length, **changed)
    matrices = part["attention"] + part["feed_forward"]
    return (
        part["table"] + part["n_layers"] * (matrices + part["gains"]) + part["last_gain"],
        part["scoring"] + part["n_layers"] * (matrices + part["attending"]),
        part["n_layers"] * part["cached"],
    )


@costs.cases("parameters", points=1)
def _(draw):
    yield "some model", sizes_of(draw)
    yield "a group for each head", sizes_of(draw, n_groups=6)


@costs.cases("operations", points=2)
def _(draw):
    yield "some model", sizes_of(draw)
    yield "a long text", sizes_of(draw) | {"length": 1000}
    yield "one group", sizes_of(draw, n_groups=1)


@costs.cases("the cache", points=1)
def _(draw):
    yield "some model", sizes_of(draw)
    yield "one group", sizes_of(draw, n_groups=1)


@costs.mistake("counts the table twice")
def two_tables(sizes, length):
    """Input and output share one table, so its numbers count once."""
    return added_up(sizes, length, table=2 * sizes["vocab"] * sizes["d_model"])


wrong("all_heads", lambda sizes, length: added_up(sizes, length, attention=4 * sizes["d_model"] ** 2))("""
    gives each head its own keys and values
    Your keys and values are as wide as the queries. Only n_groups heads of them exist, each with d_model / n_heads
    columns.""")


@costs.mistake("forgets the output matrix")
def no_output(sizes, length):
    """Your attention leaves out w_output, which has d_model times d_model numbers."""
    return added_up(sizes, length, attention=parts(sizes, length)["attention"] - sizes["d_model"] ** 2)


wrong("no_gate", lambda sizes, length: added_up(sizes, length, feed_forward=2 * sizes["d_model"] * sizes["d_ff"]))("""
    counts two matrices in the feed-forward
    Your feed-forward has two matrices. With a gate it has three: w_gate, w_up and w_down.""")
wrong("no_gains", added_up, gains=0, last_gain=0)("""
    forgets the gains
    You do not count the gains: two in each layer and one before the scores, d_model numbers each.""")
wrong("no_last_gain", added_up, last_gain=0)("""
    forgets the last gain
    You do not count the gain of the norm before the scores.""")


@costs.mistake("gives each norm a bias")
def biases(sizes, length):
    """Your norms have a bias. RMSNorm has only a gain."""
    return added_up(sizes, length, gains=4 * sizes["d_model"], last_gain=2 * sizes["d_model"])


wrong("one_layer", added_up, n_layers=1)("""
    counts one layer
    You count one layer. The model has n_layers of them.""")
wrong("no_scoring", added_up, scoring=0)("""
    forgets the scores of the tokens
    Your operations leave out the last product, a row times the table: vocab times d_model multiplications.""")
wrong("no_attending", added_up, attending=0)("""
    forgets the products of the attention
    Your operations count only the products with parameter matrices. The newest token also needs a product with the keys
    and one with the values: d_model multiplications for each token in both, for all heads together.""")
wrong("keys_alone", lambda sizes, length: added_up(sizes, length, attending=sizes["d_model"] * length))("""
    counts half of the attention
    You count half of the attention's multiplications. The newest token needs a product with all keys and one with all
    values. The mask saves nothing, because the newest token sees all others.""")


wrong("look_up", lambda sizes, length: added_up(sizes, length, scoring=2 * sizes["vocab"] * sizes["d_model"]))("""
    counts the look-up as a product
    Your operations count the table twice. The look-up copies a row and multiplies nothing. Only the scores are a
    product with the table.""")


@costs.mistake("multiplies each group once")
def attending_groups(sizes, length):
    """In the attention you count n_groups heads. The heads of a group share keys and values, but each has its own
    queries and multiplies them itself."""
    return added_up(sizes, length, attending=2 * sizes["n_groups"] * (sizes["d_model"] // sizes["n_heads"]) * length)


@costs.mistake("reads all tokens again")
def all_tokens_again(sizes, length):
    """You count the operations for all tokens. With a cache only the newest one is read."""
    parameters, operations, cached = reference.costs(sizes, length)
    return parameters, operations * length, cached


@costs.mistake("counts multiplications and additions")
def both_operations(sizes, length):
    """You count each multiplication and each addition, as most tables of FLOPs do. Here only the multiplications count,
    so your number is twice the right one."""
    parameters, operations, cached = reference.costs(sizes, length)
    return parameters, 2 * operations, cached


wrong("cache_of_heads", lambda sizes, length: added_up(sizes, length, cached=2 * sizes["d_model"] * length))("""
    keeps keys and values of all heads
    Your cache holds keys and values for each head of queries. It holds them once for each group.""")


@costs.mistake("keeps a single head")
def cache_of_one_head(sizes, length):
    """Your cache holds keys and values of a single head. The model has n_groups such heads."""
    return added_up(sizes, length, cached=2 * (sizes["d_model"] // sizes["n_heads"]) * length)


@costs.mistake("takes n_groups for the heads of a group")
def groups_as_divisor(sizes, length):
    """You count n_heads / n_groups heads of keys and values. That is how many heads of queries share a group. There are
    n_groups heads of keys, and as many of values."""
    return added_up(sizes | {"n_groups": sizes["n_heads"] // sizes["n_groups"]}, length)


@costs.mistake("keeps the keys alone")
def cache_of_keys(sizes, length):
    """Your cache holds only keys. The values are needed, too."""
    return added_up(sizes, length, cached=sizes["n_groups"] * (sizes["d_model"] // sizes["n_heads"]) * length)


@costs.mistake("keeps one layer")
def cache_of_one_layer(sizes, length):
    """Your cache is that of one layer. Each layer has its own keys and values."""
    return added_up(
        sizes,
        length,
        cached=2 * sizes["n_groups"] * (sizes["d_model"] // sizes["n_heads"]) * length / sizes["n_layers"],
    )


@costs.equivalent
def from_fresh_arrays(sizes, length):
    """Draw the model and count its numbers."""
    params = fresh_definer(np.random.default_rng(0), **sizes)
    matrices = sum(a.size for layer in params["layers"] for a in leaves(layer) if a.ndim == 2)
    d_key = sizes["d_model"] // sizes["n_heads"]
    attending = sizes["n_layers"] * sizes["n_heads"] * length * 2 * d_key
    cached = np.zeros((sizes["n_layers"], 2, sizes["n_groups"], length, d_key)).size
    return count(params), matrices + attending + params["table"].size, cached


@costs.equivalent
def as_a_list(sizes, length):
    return [np.int64(number) for number in added_up(sizes, length)]


@costs.equivalent
def layer_by_layer(sizes, length):
    d, heads, groups = sizes["d_model"], sizes["n_heads"], sizes["n_groups"]
    parameters, operations, cached = d, 0, 0
    for _ in range(sizes["n_layers"]):
        for n_in, n_out in (
            (d, d),
            (d, d),
            (d, d * groups // heads),
            (d, d * groups // heads),
            *[(d, sizes["d_ff"])] * 3,
        ):
            parameters += n_in * n_out
            operations += n_in * n_out
        parameters += d + d
        operations += heads * (length * (d // heads) + (d // heads) * length)
        cached += length * (d * groups // heads) + length * (d * groups // heads)
    return parameters + sizes["vocab"] * d, operations + sizes["vocab"] * d, cached
