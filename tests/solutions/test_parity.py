"""The tables under "Parity with PyTorch": what they print, and that a wrong layer stops the cell."""

import re

import parity
import pytest

from autograder.chapter.chapter import read_chapter, text_of
from autograder.layout import chapter_names
from solutions import attention, backward, multihead


@pytest.fixture
def roles(rng):
    return {name: rng.normal(size=shape) for name, shape in zip("QKV", ((2, 4, 5), (2, 6, 5), (2, 6, 3)), strict=True)}


def test_a_table_has_a_row_for_the_output_each_gradient_and_the_measurement(roles, capsys):
    parity.show(attention.attention, backward.attention_backward, parity.attention(), roles)
    rows = capsys.readouterr().out.splitlines()
    assert [row[:36].strip() for row in rows] == [
        "compared with PyTorch",
        "output",
        "gradient of Q",
        "gradient of K",
        "gradient of V",
        "compared with central differences",
        "along a random direction",
    ]
    assert all(re.fullmatch(r".{36}[ \de-]{7}  [ \de-]{7}", row) for row in rows[1:5])


def wrong_by_a_millionth(G, cache):
    """Go back with an error that float32 would hide."""
    queries, keys, values = backward.attention_backward(G, cache)
    return queries, keys * (1 + 1e-6), values


def test_a_wrong_gradient_stops_the_cell(roles):
    with pytest.raises(AssertionError, match="gradient of K"):
        parity.show(attention.attention, wrong_by_a_millionth, parity.attention(), roles)


def ten_percent_too_long(G, cache):
    return tuple(1.1 * gradient for gradient in backward.attention_backward(G, cache))


def test_without_pytorch_the_gradients_are_still_measured(roles, capsys, monkeypatch):
    monkeypatch.setattr(parity, "torch", None)
    parity.show(attention.attention, backward.attention_backward, parity.attention(), roles)
    assert capsys.readouterr().out.startswith("PyTorch is not installed here.\ncompared with central differences")
    with pytest.raises(AssertionError):
        parity.show(attention.attention, ten_percent_too_long, parity.attention(), roles)


def test_a_key_bias_is_left_out(rng, capsys):
    widths, params = (6, 6, 6), {}
    for role in (*parity.ROLES, "output"):
        params |= {f"w_{role}": rng.normal(size=(6, 6)), f"b_{role}": rng.normal(size=6)}
    inputs = {role: rng.normal(size=(2, 5, 6)) for role in parity.ROLES} | {"parameters": params}
    parity.show(
        lambda q, k, v, p: multihead.multi_head_attention(q, k, v, p, 2),
        multihead.multi_head_attention_backward,
        parity.multi_head_attention(widths, 2),
        inputs,
    )
    assert "gradient of parameters, worst of 7 " in capsys.readouterr().out


@pytest.mark.parametrize("name", chapter_names()[:9])
def test_each_chapter_that_builds_the_model_compares_its_functions(name):
    cells = [cell for cell in read_chapter(name).cells if "parity.show(" in cell.source]
    assert len(cells) == 1 and "hide-input" in cells[0].metadata["tags"]
    assert "\n## Parity with PyTorch\n" in text_of(name) and "<testing>" in text_of(name)
