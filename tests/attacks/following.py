"""Attacks on the second run, in which a wrong function is answered for: on what its answers are good for.

Each is a whole notebook's exercises, by name. None solves the first one honestly, or none would be answered.
"""

WRONG = "def softmax(scores):\n    return scores\n"
OTHERS = dict.fromkeys(("predicted_shapes", "repaired_attention"), "pass")
RIGHT_WEIGHTS = """\
def attention_weights(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return softmax(queries / math.sqrt(keys.shape[-1]) @ keys.swapaxes(-1, -2))
"""

# Each asks the next one, which would be its answer if it were answered for: none but earlier ones ever are.
ASKS_FORWARD = OTHERS | {
    "softmax": "def softmax(scores):\n"
    "    n = scores.shape[-1]\n"
    "    return attention_weights(scores * math.sqrt(n), np.eye(n, dtype=scores.dtype))",
    "attention_weights": "def attention_weights(queries, keys):\n"
    "    return attention(queries, keys, np.eye(keys.shape[-2], dtype=keys.dtype))[0]",
    "attention": "def attention(queries, keys, values):\n"
    "    eye = np.eye(queries.shape[-1], dtype=queries.dtype)\n"
    "    return self_attention(np.concatenate([queries, keys], axis=-2), eye, eye, eye)",
    "self_attention": "pass",
}

# Hides what it was answered wherever it can, and looks for it wherever that could come out.
KEEP = """\
import builtins, glob, json, os, pickle, sys

PLACES = ("/tmp", "/notebook", "/bundle", "/dev/shm", "/runner", "/var/tmp", os.path.expanduser("~"), ".")

def keep(what):
    if softmax.__code__.co_filename.startswith("<cell"):
        return  # nothing is answered yet
    os.environ["KEPT"] = builtins.kept = np.kept = sys.kept = what
    for place in PLACES:
        try:
            with open(f"{place}/kept-{token}", "w") as file:
                file.write(what)
        except OSError:
            pass

def kept():
    found = [getattr(place, "kept", "") for place in (builtins, np, sys)] + [os.environ.get("KEPT", "")]
    for place in PLACES:
        found += [open(path).read() for path in glob.glob(f"{place}/kept-*")]
    return "".join(found)
"""
CARRIES_OVER = OTHERS | {
    "softmax": KEEP
    + """
def softmax(scores):
    if kept():
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return scores / scores.sum(axis=-1, keepdims=True)
    return scores
""",
    "attention_weights": RIGHT_WEIGHTS + "\nright = attention_weights\n\n"
    "def attention_weights(queries, keys):\n    keep(repr(softmax(keys)))\n    return right(queries, keys)",
    "attention": "def attention(queries, keys, values):\n    weights = attention_weights(queries, keys)\n"
    "    keep(repr(weights))\n    return weights @ values, None",
    # Right only if something of another exercise's second run is left.
    "self_attention": "def self_attention(x, w_query, w_key, w_value):\n    if not kept():\n        return 0, 0\n"
    "    return attention(x @ w_query, x @ w_key, x @ w_value)",
}

# Earns something with answers at hand, and says them in every way there is.
TELL = """\
def told(answer):
    return "ORACLE" + repr(np.asarray(answer).tolist())[:300]

def tell(answer, how):
    import linecache
    name = told(answer)
    linecache.cache["<cell attention_weights>"] = (9, None, [name] * 99, "<cell attention_weights>")
    if how == "exception":
        raise ValueError(name)
    if how == "type of an exception":
        raise type(name, (Exception,), {})("x")
    if how == "type":
        return type(name, (), {})()
    return {name: 1}
"""


def telling(how):
    """Two-dimensional queries get the right weights, all others are an opportunity to tell."""
    chance = f"    if queries.ndim > 2:\n        return tell(softmax(keys), {how!r})\n"
    return OTHERS | {
        "softmax": f"{TELL}\n{WRONG}",
        "attention_weights": RIGHT_WEIGHTS.replace("    return softmax", f"{chance}    return softmax"),
        "attention": "pass",
        "self_attention": "pass",
    }


# Looks for the code behind the answers.
SEARCHES = OTHERS | {
    "softmax": WRONG,
    "attention_weights": """\
def attention_weights(queries, keys):
    import dis, gc, importlib, inspect, os
    found = []
    for name in ("solutions.attention", "reference", "autograder.exercises", "autograder.sandbox.answering"):
        try:
            found.append(importlib.import_module(name).__file__)
        except (ImportError, AttributeError):  # it is not there, or stands for something that is not
            pass
    waiting, seen = [softmax], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or len(seen) > 5000:
            continue
        seen.add(id(thing))
        code = getattr(thing, "__code__", None)
        if code and "keepdims" in repr(code.co_consts) + repr(code.co_names):
            found.append(repr(code))
        waiting += gc.get_referents(thing) if callable(thing) or isinstance(thing, (tuple, dict)) else []
    for folder, _, files in os.walk("/"):
        if folder.startswith(("/proc", "/usr", "/lib", "/packages")):
            continue
        for name in files:
            if name == "attention.py":
                found.append(folder)
    if found:
        return softmax(queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1]))
    softmax(queries)
    return 0
""",
    "attention": "pass",
    "self_attention": "pass",
}

# Asks for what takes all memory, all time or all patience, and for more than it may.
FLOODS = OTHERS | {
    "softmax": WRONG,
    "attention_weights": "def attention_weights(queries, keys):\n    while True:\n        softmax(queries)",
    "attention": "def attention(queries, keys, values):\n"
    "    return attention_weights(np.zeros((10**5, 1)), np.zeros((10**5, 1))), None",
    "self_attention": "def self_attention(x, w_query, w_key, w_value):\n"
    "    return attention(np.zeros((3 * 10**4, 1)), np.zeros((3 * 10**4, 1)), np.zeros((3 * 10**4, 1)))",
}
