"""What a student reads about the errors of NumPy and Python that slips end in."""

import linecache
import math
import re
from dataclasses import replace
from inspect import signature
from textwrap import fill

import numpy as np
import pytest

from check.calling import Raised, describe
from check.hints import hint
from check.raised_words import about_operands, in_its_own_words, in_our_words
from solutions.attention import softmax
from solutions.backward import linear
from solutions.cross import decoder_layer
from solutions.parameters import flatten, initialise, map_tree

pytestmark = pytest.mark.autograder


ONES = np.ones(3)


def plus(a: int, other, factor=1):
    return a + other * factor


def scaled(a, *, by):
    return a * by


def by_place(a, /):
    return a


def counted():
    def inner(a):
        return a

    return inner


class Scale:
    def __init__(self, by=ONES):
        self.by = by

    def times(self, x):
        return self.by * x


def raised_by(line, **more):
    file = "<cell numpy_errors>"
    linecache.cache[file] = (len(line), None, [line + "\n"], file)
    names = {"np": np, "math": math, "x": np.ones((3, 4)), "w_query": np.ones((4, 2)), "mask": np.ones(5, bool)}
    names |= {
        "plus": plus,
        "scaled": scaled,
        "counted": counted(),
        "by_place": by_place,
        "signature": signature,
        "fill": fill,
    }
    names |= {"Scale": Scale, "scale": Scale(), "short": lambda a: a, "map_tree": map_tree}
    names |= {"gone": None, "pair": (1, 2), "layers": [1], "softmax": softmax, "params": {"w": 1, "b": 2}} | more
    with pytest.raises(Exception) as caught:  # noqa: PT011
        exec(compile(line, file, "exec"), names)
    return describe(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("w_query @ x", "the last axis of the left array (2) must be as long as the last but one of the right array"),
        ("np.dot(w_query, x)", "the last axis of the left array, shape (4,2), must be as long as the last but one of"),
        ("w_query @ 3", "what stands on one side of it has none"),
        ("np.inner(x, w_query)", "`np.inner` multiplies along the last axis of both arrays"),
        ("np.tensordot(x, w_query, 1) + np.tensordot(w_query, x, 1)", "the axes along which `np.tensordot` multiplies"),
        ("np.split(x, 3, axis=1)", "the length of the axis cannot be divided by their number"),
        ("np.squeeze(x, 0)", "removes only an axis of length 1"),
        ("np.take_along_axis(x, np.arange(3), axis=1)", "both arrays need the same number of axes"),
        ("np.take_along_axis(x, np.ones((3, 1)), axis=1)", "must hold whole numbers"),
        ("np.concatenate([x[0, 0], x])", "only arrays with axes can be joined"),
        ("x.reshape(-1, -1)", "only one length of a new shape may be -1"),
        ("x.view(-1, 2)", "changes the dtype of an array, not its shape: use `reshape`"),
        ("x.view(2, 3, 2)", "changes the dtype of an array, not its shape: use `reshape`"),
        ("math.sqrt(x)", "a single number is expected here, and this is an array"),
        ("x | x", "does not work with the dtypes of its arguments"),
        ("np.exp(None)", "needs numbers or arrays of numbers"),
        ("n, t, d = x.shape", "there are fewer values, 2, than names for them, 3"),
        ("n, t = x.T[0]", "there are more values than names for them, which are 2"),
        ("output, cache = None", "this is only one thing, None"),
        ("list(x[0, 0])", "this is only one thing, a single number"),
        ("x[0, 0][0]", "square brackets choose entries, and this has none"),
        ("gone[0]", "square brackets choose entries, and this has none: it is None"),
        ("pair[0, 1]", "a tuple is indexed with a whole number or a slice"),
        ("len(x[0, 0])", "`len` counts entries, and this has none: it is a single number"),
        ("w_query(x)", "this cannot be called: it is an array"),
        ("x.size(0)", "this cannot be called: it is a single number"),
        ("x.reshape(3, 4 / 2)", "a whole number is expected here, and this is a float"),
        ("range(x.shape)", "a whole number is expected here, and this is a tuple"),
        ("None + x", "an operator, `+`, does not work with what stands beside it: None and"),
        ("{} ** 2", "an operator, `**`, does not work with what stands beside it: a dict and a single number"),
        ("(x, x) * 2.0", "does not work with a tuple or a list"),
        ("None < 0", "a comparison, `<`, does not work with these two: None and a single number"),
        ("None.shape", "there is no such attribute: None has no `shape`"),
        ("x.reshpe(2)", "an array has no `reshpe`; did you mean `reshape`?"),
        ("np.relu(x)", "the module has no such function as `numpy.relu`"),
        ("x.max(dim=1)", "`max` has no parameter `dim`"),
        ("np.argmax(x, dim=1)", "`argmax` has no parameter `dim`"),
        ("np.concatenate(x, x, axis=0)", "an argument is passed twice, by position and by name"),
        ("x + w_query", "the shapes (3,4) and (4,2) do not fit. Counted from the last axis, the lengths must be equal"),
        ("np.where(x > 0, x, w_query)", "the shapes (3,4) and (3,4) and (4,2) do not fit"),
        ("np.broadcast_to(x, (2, 2))", "the array, of shape (3,4), cannot be repeated to the requested shape (2,2)"),
        ("x += np.ones((2, 3, 4))", "the result, of shape (2,3,4), does not fit into the array, of shape (3,4),"),
        ("x[0] = np.ones(3)", "the array of shape (3,) does not fit into the place of shape (4,)"),
        ("np.einsum('ij,jk->ik', w_query, x)", "axes with the same letter must be equally long"),
        ("np.einsum('ijk,jk->ik', x, x)", "each axis needs one letter"),
        ("np.einsum('ij,jk,kl->ik', x, x)", "the letters of `einsum` do not fit"),
        (
            "np.ones((6, 4, 9)) @ np.ones((2, 9, 9))",
            "shapes (6,4,9) and (2,9,9), do not fit in the axes before the last two",
        ),
        ("np.concatenate([x, w_query])", "but along axis 1 they have lengths 4 and 2"),
        ("np.concatenate([x, np.ones(3)])", "the joined arrays must have the same number of axes"),
        ("np.concatenate(x, x)", "`np.concatenate` takes its arrays in one list"),
        ("np.max(x, x)", "`np.maximum`, not `np.max`, compares two arrays"),
        ("np.stack([x, w_query])", "`stack` needs arrays of the same shape"),
        ("x.reshape(5, 2)", "the array, with 12 entries, cannot fill the new shape (5,2)"),
        ("x.transpose(0, 1, 2)", "got more or fewer axes than the array has"),
        ("x.transpose(0, 0)", "got an axis twice"),
        ("np.moveaxis(x, 2, 1)", "the array has no axis with this number: 2, but it has 2 in all"),
        ("x.swapaxes(1, 2)", "the array has no axis with this number: 2, but it has 2 in all"),
        ("x[3]", "an index, 3, lies outside its axis, which has length 3"),
        ("x[0, 0, 0]", "there are more indices, 3, than axes, 2"),
        ("x[mask]", "but along axis 0 the array has length 3 and the mask 5"),
        ("x[np.arange(2), np.arange(3)]", "the index arrays have shapes that do not fit each other"),
        ("x[3 / 2]", "`/` makes a float, and `//` a whole number"),
        ("np.einsum('ij,jk->il', x, w_query)", "the result uses each of these letters at most once"),
        ("x[0, 0] = [1, 2]", "an entry of an array holds one number"),
        ("np.array([[1, 2], [3]])", "the parts of a NumPy array must have the same shape"),
        ("np.zeros(3, 4)", "a shape, or several axes, are one tuple"),
        ("plus(x)", "a call passes too few arguments: `plus` needs `other`"),
        ("plus()", "a call passes too few arguments: `plus` needs `a` and `other`"),
        ("scaled(x)", "a call passes too few arguments: `scaled` needs `by`"),
        ("np.swapaxes(x, 1)", "a call passes too few arguments: `swapaxes` needs `axis2`"),
        ("np.zeros()", "a call passes too few arguments: `zeros` needs `shape`"),
        ("plus(x, x, x, x)", "too many or too few arguments: `plus` takes from 2 to 3 by position and gets 4"),
        ("scaled(x, 2)", "a call has too many or too few arguments: `scaled` takes 1 by position and gets 2"),
        ("scaled(x, 2, by=1)", "`scaled` takes 1 by position and gets 2"),
        ("(lambda a: a)(1, 2)", "`lambda` takes 1 by position and gets 2"),
        ("{}.keys(1)", "takes none by position and gets 1"),
        ("counted(1, 2)", "`inner` takes 1 by position and gets 2"),
        ("Scale(2).times(x, x)", "a call of a method has too many or too few arguments: `Scale.times`"),
        ("Scale(2, 3)", "a call of a method has too many or too few arguments: `Scale.__init__`"),
        ("np.maximum(x)", "`maximum` takes from 2 to 3 by position and gets 1"),
        ("x.sum(1, 2, 3, 4, 5, 6, 7)", "`sum` takes from 1 to 7 by position and gets 8"),
        ("len(x, x)", "`len` takes exactly one by position and gets 2"),
        (
            "by_place(a=1)",
            "an argument is passed by name, but the function takes it by position only: `a` of `by_place`",
        ),
        ("signature(plus).bind(1)", "a call passes too few arguments: the function needs `other`"),
        ("signature(plus).bind(1, 2, 3, 4)", "a call has more arguments than the function takes"),
        ("signature(plus).bind(1, 2, z=1)", "an argument has a name that the function does not know: `z`"),
        ("signature(plus).bind(1, a=1)", "an argument is passed twice, by position and by name: `a`"),
    ],
)
def test_numpys_errors_are_said_in_our_words_and_in_grading_without_numbers(line, words):
    raised = raised_by(line)
    assert words in in_our_words(raised)
    unquoted = in_our_words(replace(raised, quoted=False))
    assert unquoted and set(re.findall(r"\d+", unquoted)) <= set("01346") and not set("{}[]") & set(unquoted)


@pytest.mark.parametrize("line", ["raise TypeError('mine')", "raise ValueError('mine')", "raise KeyError('axes')"])
def test_another_error_keeps_its_own_words(line):
    assert in_our_words(raised_by(line)) == ""


def test_a_forged_message_is_not_repeated_in_grading():
    raised = Raised("ValueError", "operands could not be broadcast together with shapes (17,17)", quoted=False)
    assert "17" not in in_our_words(raised)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("y = w_query @ x", "`w_query` has shape (4, 2), `x` has shape (3, 4). `x @ w_query` fits: a vector is a row"),
        ("y = w_query @ x[0]", "`x[0]` has shape (4,). `x[0] @ w_query` fits: a vector is a row in this book"),
        ("y = np.matmul(w_query, x)", "`x @ w_query` fits"),
        ("y = x + w_query", "Here `x` has shape (3, 4), `w_query` has shape (4, 2)."),
        ("y = x.T @ w_query", "Here `x.T` has shape (4, 3), `w_query` has shape (4, 2)."),
        ("y = np.concatenate([x, w_query])", "Here `x` has shape (3, 4), `w_query` has shape (4, 2)."),
        ("y = x.reshape(5, 2)", "Here `x` has shape (3, 4)."),
        ("y = x[mask]", "Here `x` has shape (3, 4), `mask` has shape (5,)."),
        ("y = np.exp(w_query) @ x", "Here `x` has shape (3, 4)."),
        ("y = x @ x[:2]", "`x @ np.swapaxes(x[:2], -1, -2)` fits."),
        ("n, t, d = x.shape", "Here `x` has shape (3, 4)."),
        ("y = fill(x, 1, 2)", "Here `x` has shape (3, 4)."),
        ("y = gone @ x", "Here `gone` is None, `x` has shape (3, 4)."),
        ("y = params['v']", "Here `params` is a dict with `w`, `b`."),
        ("y = pair.shape", "Here `pair` is a tuple with 2 items."),
        ("plus(x)", "Here `plus` takes `(a, other, factor=1)`, `x` has shape (3, 4)."),
        ("scaled(x, 2)", "Here `scaled` takes `(a, *, by)`, `x` has shape (3, 4)."),
        ("Scale(2).times(x, x)", "Here `x` has shape (3, 4)."),
        ("scale.times(x, x)", "Here `scale.times` takes `(x)`, `x` has shape (3, 4)."),
        ("Scale(x, x)", "Here `Scale` takes `(by=...)`, `x` has shape (3, 4)."),
        ("short(x, x)", "Here `short` takes `(a)`, `x` has shape (3, 4)."),
        ("y = map_tree(short, x, x)", "In `map_tree`, `f` takes `(a)`, `tree` has shape (3, 4)."),
        (
            "plus(x, w_query, y=1)",
            "Here `plus` takes `(a, other, factor=1)`, `x` has shape (3, 4), `w_query` has shape",
        ),
        ("np.maximum(x)", "Here `x` has shape (3, 4)."),
        ("plus(x, w_query)", "Here `x` has shape (3, 4), `w_query` has shape (4, 2)."),
        ("raise ValueError('mine')", ""),
    ],
)
def test_the_operands_are_named_with_their_shapes(line, sentence):
    about = about_operands(raised_by(line))
    assert sentence in about if sentence else about == ""


def test_no_part_of_an_expression_is_called_again():
    calls = []
    np_like = type("A", (), {"__matmul__": lambda *_: (_ for _ in ()).throw(ValueError("axes don't match array"))})
    line = "a() @ 1"
    file = "<cell numpy_errors>"
    linecache.cache[file] = (len(line), None, [line + "\n"], file)
    with pytest.raises(ValueError, match="axes") as caught:
        exec(compile(line, file, "exec"), {"a": lambda: calls.append(1) or np_like()})
    describe(caught.value)
    assert calls == [1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("linear(x[0, 0], w_query, x)", "In `linear`, `x` is a single number, `weight` has shape (4, 2)."),
        (
            "decoder_layer(x, memory, params, 2, mask, mask)",
            "In `decoder_layer`, `x` has shape (3, 4), `memory` has shape (5, 4), `self_mask` has shape (5,)",
        ),
    ],
)
def test_the_parameters_of_a_given_function_are_named_with_their_shapes(line, words):
    layer = initialise(np.random.default_rng(0), {"shared": 3}, 4, 4, 0, 1)["decoder"][0]
    given = {"linear": linear, "decoder_layer": decoder_layer, "memory": np.ones((5, 4)), "params": layer}
    about = about_operands(raised_by(line, **given))
    assert words in about and "fits" not in about


def test_a_tuple_is_no_tree():
    with pytest.raises(TypeError, match="a list or a dict of trees, and this is a tuple"):
        flatten(({"w": np.ones(2)}, {"w": np.ones(2)}))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x.max(dim=-1)", "names for PyTorch's `dim` and `keepdim` are `axis` and `keepdims`"),
        ("softmax(x, dim=-1)", ""),
        ("x.size(0)", "`x.shape[-1]` the length of the last axis"),
        ("x.shape(0)", "square brackets choose an entry"),
        ("x.unsqueeze(0)", "In NumPy, write `x[..., None]`"),
        ("np.relu(x)", "In NumPy, write `np.maximum(x, 0)`"),
        ("x[None].transpose(1, 2)", "`transpose(1, 2)` exchanges two axes only in PyTorch"),
        ("w_query @ x[:3].transpose(-2, -1)", "`transpose(-2, -1)` exchanges two axes only in PyTorch"),
        ("torch.exp(x)", "Write this with NumPy"),
        ("n, t, d = x.shape", "`*batch, T, d = x.shape` puts all but the last two into `batch`"),
        ("n, t, d = pair", ""),
        ("gone < 0", "A function that ends without `return` gives None"),
        ("gone.any()", "a parameter may be None"),
        ("x.reshape(3, 4 / 2)", "`//` a whole number"),
        ("x.reshape([3], 4)", "unpack it with a star"),
        ("w_query(x)", "A product of matrices is `x @ w`"),
        ("params.w", "An entry of a dict is read with its key"),
        ("layers['w']", "A list of dicts needs a number first"),
        ("params * 2.0", "Apply it to each array"),
        ("x.values()", "Only a dict has it"),
        ("np.tri(x)", "An array of several entries stands where a single number"),
        ("x[mask]", "`np.where(mask, a, b)` does"),
        ("x[0] + np.ones(5)", "give the first a second axis: `a[:, None]`"),
        ("scaled(x, 2)", "Pass what follows `*` by name"),
        ("plus(x)", ""),
        ("x if x else x", "`if`, `and`, `or` and `not` want one True or False"),
    ],
)
def test_a_hint_names_the_way_to_write_it_here(key, line, words):
    found = hint(key, raised_by(line))
    assert words in found if words else found == ""


def test_the_message_of_the_error_stands_after_our_words_except_in_grading():
    raised = raised_by("x.unsqueeze(0)")
    said = in_its_own_words(raised)
    assert said == " The error itself says: “'numpy.ndarray' object has no attribute 'unsqueeze'”."
    assert (
        in_its_own_words(replace(raised, quoted=False)) == in_its_own_words(raised_by("raise ValueError('mine')")) == ""
    )
