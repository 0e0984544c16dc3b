"""Files of weights: what is packed is read again, and no file makes `unpack` allocate, run or accept anything else."""

import base64
import io
import json
import pickle
import re
import tracemalloc
import zipfile

import numpy as np
import pytest

from check import handing_in
from check.weights_file import MAX_BYTES, Expected, UnusableWeights, pack, unpack

EXPECTED = Expected(
    layout={"layers.0.w": (2, 3), "layers.1.w": (3, 1), "table": (4, 2)},
    recipe={"seed": (0, 2**32 - 1, True), "steps": (1, 1000, True), "rate": (0, 1, False)},
    taken_seed=0,
)
RECIPE = {"seed": 7, "steps": 100, "rate": 0.5}
N = 17


def params():
    rng = np.random.default_rng(0)
    return {
        "table": rng.normal(size=(4, 2)),
        "layers": [{"w": rng.normal(size=(2, 3))}, {"w": rng.normal(size=(3, 1))}],
    }


def npz(recipe=RECIPE, compress=False, **arrays):
    buffer = io.BytesIO()
    text = recipe if isinstance(recipe, bytes) else json.dumps(recipe).encode()
    save = np.savez_compressed if compress else np.savez
    save(buffer, **{"weights": np.zeros(N, np.float16), "recipe": np.frombuffer(text, np.uint8)} | arrays)
    return buffer.getvalue()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_what_is_packed_is_read_again():
    tree = params()
    vector, recipe = unpack(pack(tree, RECIPE, EXPECTED), EXPECTED)
    parts = [tree["layers"][0]["w"], tree["layers"][1]["w"], tree["table"]]
    assert np.array_equal(vector, np.concatenate(parts, axis=None).astype(np.float16)) and recipe == RECIPE


def test_numbers_of_numpy_become_plain_ones():
    recipe = {"seed": np.int64(7), "steps": 100.0, "rate": np.float32(0.5)}
    assert unpack(pack(params(), recipe, EXPECTED), EXPECTED)[1] == RECIPE


def test_a_read_file_does_not_depend_on_numpys_padding_of_headers():
    short = npy(np.zeros(N, np.float16)).replace(b"{", b"{", 1)
    header, numbers = short[:128].rstrip(b" \n"), short[128:]
    tight = header[:8] + (len(header) - 10 + 1).to_bytes(2, "little") + header[10:] + b"\n" + numbers
    recipe = npy(np.frombuffer(json.dumps(RECIPE).encode(), np.uint8))
    assert len(unpack(zipped(weights=tight, recipe=recipe), EXPECTED)[0]) == N


class Harmful:
    def __reduce__(self):
        return print, ("a pickle was opened",)


DECLARED = npy(np.zeros(N, np.float16)).replace(b"(17,)", b"(1000000000,)").replace(b" " * 8, b"", 1)
BOMB = npz(compress=True, weights=np.zeros(50_000_000, np.float16))
LIES = npz().replace((128 + 2 * N).to_bytes(4, "little"), (10**9).to_bytes(4, "little"))

UNUSABLE = {
    "too large": (npz() + bytes(MAX_BYTES), "at most 500,000"),
    "no zip file": (b"hello", "damaged"),
    "empty": (b"", "damaged"),
    "cut off": (npz()[:-30], "damaged"),
    "a flipped bit": (npz()[:200] + bytes([npz()[200] ^ 1]) + npz()[201:], "damaged"),
    "a pickle": (pickle.dumps(Harmful()), "damaged"),
    "objects": (npz(weights=np.array([Harmful()] * N, object)), "only pickle could read"),
    "a pickle in place of an array": (zipped(weights=pickle.dumps(Harmful()), recipe=b""), "should be a vector of 17"),
    "float64": (npz(weights=np.zeros(N)), "should be a vector of 17 float16"),
    "big-endian": (npz(weights=np.zeros(N, ">f2")), "should be a vector of 17 float16"),
    "a shape that is no number": (
        zipped(weights=npy(np.zeros(N, np.float16)).replace(b"(17,)", b"(1 7)"), recipe=b""),
        "should be a vector of 17 float16",
    ),
    "a matrix": (npz(weights=np.zeros((N, 1), np.float16)), "should be a vector of 17 float16"),
    "one too few": (npz(weights=np.zeros(N - 1, np.float16)), "should be a vector of 17 float16"),
    "NaN": (npz(weights=np.full(N, np.nan, np.float16)), "NaN or infinity"),
    "infinity": (npz(weights=np.full(N, np.inf, np.float16)), "NaN or infinity"),
    "a zip bomb": (BOMB, "compressed or declares more"),
    "a billion declared numbers": (zipped(weights=DECLARED, recipe=b""), "should be a vector of 17 float16"),
    "a billion declared bytes": (LIES, "declares more"),
    "another array": (npz(more=np.zeros(1)), "nothing else"),
    "no recipe": (zipped(weights=npy(np.zeros(N, np.float16))), "nothing else"),
    "a recipe that is not JSON": (npz(recipe=b"seed: 7"), "not JSON"),
    "a deep recipe": (npz(recipe=b"[" * 1500), "not JSON"),
    "a recipe of Python": (npz(recipe=b"__import__('os').system('true')"), "not JSON"),
    "a long recipe": (npz(recipe=b" " * 3000), "at most 2,000"),
    "a recipe without a seed": (npz(recipe={"steps": 1, "rate": 0.5}), "exactly these keys: seed, steps, rate"),
    "a recipe with more": (npz(recipe=RECIPE | {"x": 1}), "exactly these keys"),
    "a list as a recipe": (npz(recipe=[7, 100, 0.5]), "exactly these keys"),
    "a text as a number": (npz(recipe=RECIPE | {"seed": "7"}), "`seed` of a recipe should be a whole number"),
    "True as a number": (npz(recipe=RECIPE | {"steps": True}), "`steps` of a recipe"),
    "half a step": (npz(recipe=RECIPE | {"steps": 1.5}), "`steps` of a recipe should be a whole number from 1 to 1000"),
    "NaN as a rate": (npz(recipe=RECIPE | {"rate": float("nan")}), "`rate` of a recipe should be a number from 0 to 1"),
    "too many steps": (npz(recipe=RECIPE | {"steps": 10**30}), "`steps` of a recipe"),
    "the book's seed": (npz(recipe=RECIPE | {"seed": 0}), "choose a seed of your own"),
}


@pytest.mark.parametrize("raw, words", UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_files_are_refused_before_anything_large_is_made(raw, words, capsys):
    tracemalloc.start()
    with pytest.raises(UnusableWeights, match=re.escape(words)):
        unpack(raw, EXPECTED)
    assert tracemalloc.get_traced_memory()[1] < 4 * len(raw) + 200_000
    tracemalloc.stop()
    assert capsys.readouterr().out == ""


def changed(path, value):
    tree = params()
    tree["layers"][0][path] = value
    return tree


NOT_PACKED = {
    "no tree": (7, "`params` lacks `layers.0.w`"),
    "an array is missing": (params() | {"table": {}}, "lacks `table`"),
    "an array too many": (changed("b", np.zeros(3)), "does not have: `layers.0.b`"),
    "transposed": (changed("w", np.zeros((3, 2))), r"`layers.0.w` has the shape (3, 2)"),
    "NaN": (changed("w", np.full((2, 3), np.nan)), "Did the training diverge?"),
    "beyond float16": (changed("w", np.full((2, 3), 1e5)), "beyond 65,504"),
    "complex": (changed("w", np.zeros((2, 3), complex)), "real numbers"),
    "objects": (changed("w", np.full((2, 3), None)), "real numbers"),
}


@pytest.mark.parametrize("tree, words", NOT_PACKED.values(), ids=NOT_PACKED)
def test_what_grading_would_refuse_is_not_packed(tree, words):
    with pytest.raises(UnusableWeights, match=re.escape(words)):
        pack(tree, RECIPE, EXPECTED)


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "10_project_weights.json").write_text(EXPECTED.to_json())
    monkeypatch.setenv("CHECK_DATA", str(tmp_path))


def test_hand_in_shows_what_it_packed_and_where_to_go_on(bundle, capsys):
    handing_in.hand_in(params(), RECIPE)
    assert "made by this recipe: seed 7, steps 100, rate 0.5." in (out := capsys.readouterr().out) and "Save" in out


def test_the_link_is_the_file(bundle):
    raw = pack(params(), RECIPE, EXPECTED)
    html = handing_in.packed(raw, RECIPE).html
    assert base64.b64decode(html.partition(handing_in.LINK)[2].partition('"')[0]) == raw


def test_the_books_seed_is_not_an_error_since_the_released_chapter_has_it(bundle, capsys):
    handing_in.hand_in(params(), RECIPE | {"seed": 0})
    assert "Nothing was packed. The seed 0 is the book's" in capsys.readouterr().out


def test_a_refusal_is_one_line_in_a_notebook(bundle):
    with pytest.raises(handing_in.HandInRefused) as refused:
        handing_in.hand_in({}, RECIPE)
    lines = refused.value._render_traceback_()
    assert lines == ["HandInRefused: `params` lacks `layers.0.w`: hand in the parameters of the chapter's model."]


@pytest.mark.parametrize("other", ["01_before", "12_after"])
def test_a_second_chapter_in_the_folder_leaves_the_first_ones_weights_alone(bundle, tmp_path, capsys, other):
    layout = {"layers.0.norm": (2,), "layers.0.w": (9, 9), "head": (1,)}
    expected = Expected(layout, {"seed": (0, 9, True)}, taken_seed=1)
    (tmp_path / "keys" / f"{other}_weights.json").write_text(expected.to_json())
    handing_in.hand_in(params(), RECIPE)
    assert "Packed" in capsys.readouterr().out


def test_elsewhere_the_message_says_where_to_use_it(tmp_path, monkeypatch):
    monkeypatch.setenv("CHECK_DATA", str(tmp_path))
    with pytest.raises(LookupError, match="in the folder of an unzipped chapter that asks for it"):
        handing_in.hand_in(params(), RECIPE)
