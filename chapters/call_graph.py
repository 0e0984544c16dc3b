"""Find what a solution builds on: the functions that its code calls, directly or through helpers."""

import ast
import inspect
import textwrap


def reached(function, known):
    """Return the functions of `known` that a function calls, directly or through functions that are not in `known`.

    Args:
        function: a function or class of `solutions`.
        known: names, of the exercises.

    Returns:
        list of names, in the order in which the search finds them. The functions in between are helpers: other
        functions or classes of `solutions`.
    """
    known_calls, seen, waiting = [], {function.__name__}, [function]
    while waiting:
        caller = waiting.pop(0)
        for name in sorted(names_from_outside(caller) - seen):
            seen.add(name)
            called = vars(inspect.getmodule(caller)).get(name)
            if name in known:
                known_calls.append(name)
            elif callable(called) and called.__module__.startswith("solutions."):
                waiting.append(called)
    return known_calls


def names_from_outside(function):
    """Return the names that the code of a function or class takes from outside: neither parameters nor variables."""
    nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    named = [node for node in nodes if isinstance(node, ast.Name)]
    own |= {node.id for node in named if isinstance(node.ctx, ast.Store)}
    return {node.id for node in named} - own
