"""Attacks on the second run, in which the grader answers the calls of a wrong function.

Each attack holds all exercises of a notebook, by name. None solves the first exercise: otherwise the grader would not
answer it.
"""

WRONG = "def softmax(scores):\n    return scores\n"
OTHERS = dict.fromkeys(("copies_predecessor", "repaired_attention"), "pass")
RIGHT_WEIGHTS = """\
def attention_weights(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return softmax(queries / math.sqrt(keys.shape[-1]) @ keys.swapaxes(-1, -2))
"""

# Each exercise calls a later one, whose answer would solve it. The grader answers only earlier exercises.
ASKS_FORWARD = OTHERS | {
    "softmax": "def softmax(scores):\n"
    "    n = scores.shape[-1]\n"
    "    return attention_weights(scores * math.sqrt(n), np.eye(n, dtype=scores.dtype))",
    "attention_weights": "def attention_weights(queries, keys):\n"
    "    return attention(queries, keys, np.eye(keys.shape[-2], dtype=keys.dtype))[0]",
    "attention": "pass",
}

# Hides the answers wherever it can, and looks for them wherever they could reappear.
KEEP = """\
import builtins, glob, json, os, pickle, sys

PLACES = ("/tmp", "/notebook", "/bundle", "/dev/shm", "/runner", "/var/tmp", os.path.expanduser("~"), ".")

def keep(what):
    if softmax.__code__.co_filename.startswith("<cell"):
        return  # in the first run nothing is answered
    os.environ["KEPT"] = builtins.kept = np.kept = sys.kept = what
    for place in PLACES:
        try:
            with open(f"{place}/kept-{token}", "w") as file:
                file.write(what)
        except OSError:
            pass

def kept():
    texts = [getattr(place, "kept", "") for place in (builtins, np, sys)] + [os.environ.get("KEPT", "")]
    for place in PLACES:
        texts += [open(path).read() for path in glob.glob(f"{place}/kept-*")]
    return "".join(texts)
"""
CARRIES_OVER = OTHERS | {
    "softmax": f"{KEEP}\n{WRONG}",
    # Runs again with a right softmax. It is wrong again, so the others then run with both answered.
    "attention_weights": "def attention_weights(queries, keys):\n    keep(repr(softmax(keys)))\n    return 0",
    "attention": "def attention(queries, keys, values):\n    return attention_weights(queries, keys) @ values, None",
    # This is right only if an answer from the first of these two runs is still available.
    "repaired_attention": "def repaired_attention(queries, keys, values):\n    if not kept():\n        return 0\n"
    "    return attention_weights(queries, keys) @ values",
}

# Earns some points with the answers, and tries to put them into the report in every possible way.
TELL = """\
def as_name(answer):
    return "ORACLE" + repr(np.asarray(answer).tolist())[:300]

def tell(answer, how):
    import linecache
    name = as_name(answer)
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
    """Return exercises that are right for two-dimensional queries, and otherwise put an answer into the report."""
    leak = f"    if queries.ndim > 2:\n        return tell(softmax(keys), {how!r})\n"
    return OTHERS | {
        "softmax": f"{TELL}\n{WRONG}",
        "attention_weights": RIGHT_WEIGHTS.replace("    return softmax", f"{leak}    return softmax"),
        "attention": "pass",
    }


# Looks for the code behind the answers.
SEARCHES = OTHERS | {
    "softmax": WRONG,
    "attention_weights": """\
def attention_weights(queries, keys):
    import dis, gc, importlib, inspect, os
    traces = []
    for name in ("solutions.attention", "reference", "autograder.exercises", "autograder.sandbox.answering"):
        try:
            traces.append(importlib.import_module(name).__file__)
        except (ImportError, AttributeError):  # it does not exist, or is a placeholder
            pass
    pending, visited = [softmax], set()
    while pending:
        thing = pending.pop()
        if id(thing) in visited or len(visited) > 5000:
            continue
        visited.add(id(thing))
        code = getattr(thing, "__code__", None)
        if code and "keepdims" in repr(code.co_consts) + repr(code.co_names):
            traces.append(repr(code))
        pending += gc.get_referents(thing) if callable(thing) or isinstance(thing, (tuple, dict)) else []
    for folder, _, files in os.walk("/"):
        if folder.startswith(("/proc", "/usr", "/lib", "/packages")):
            continue
        for name in files:
            if name == "attention.py":
                traces.append(folder)
    if traces:
        return softmax(queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1]))
    softmax(queries)
    return 0
""",
    "attention": "pass",
}

# Asks for answers that need all memory or time, and for more answers than the limit.
FLOODS = OTHERS | {
    "softmax": WRONG,
    "attention_weights": "def attention_weights(queries, keys):\n    while True:\n        softmax(queries)",
    "attention": "def attention(queries, keys, values):\n"
    "    return attention_weights(np.zeros((10**5, 1)), np.zeros((10**5, 1))), None",
}
