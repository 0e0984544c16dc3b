"""What the gate refuses to publish, and what it lets through."""

import base64
import hashlib
import html
import inspect
import io
import json
import sys
import textwrap
import types
import zipfile

import nbformat
import numpy as np
import pytest
from nbconvert.filters import Highlight2HTML

from autograder.chapter.chapter import Chapter, read_chapter, stubs, text_of
from autograder.errors import UserError
from autograder.layout import REPO
from autograder.release import gate
from autograder.release.build import ReleaseRefused
from autograder.release.gate import content_digest
from autograder.release.publish import publish
from autograder.release.secret_bodies import SecretBodies
from tests.autograder.release.small_repo import CHAPTER, change

pytestmark = pytest.mark.release

SOLUTIONS = {
    "solutions/attention.py": '''
import math


def softmax(scores):
    """A softmax."""
    # A comment.
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def causal_mask(length):
    return np.tril(np.ones((length, length), dtype=bool))


def target_mask(tokens, pad):
    return causal_mask(tokens.shape[-1]) & padding_mask(tokens, pad)


def padding_mask(tokens, pad):
    return (tokens != pad)[..., np.newaxis, :]


def agreeing(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "queries and keys differ in their last axis so that no dot product of the two can be taken and there "
            "are neither scores nor weights nor any output until one of them has been brought to the size of the other"
        )
    return queries @ keys.swapaxes(-1, -2)


def norm_backward(grad_output, cache):
    normalised, gain, deviation = cache
    if gain.ndim != 1:
        raise ValueError(f"gain has {gain.ndim} axes, but a gain has one, as long as the last axis of x is")
    axes = tuple(range(grad_output.ndim - 1))
    grad_gain = (grad_output * normalised).sum(axis=axes)
    grad_bias = grad_output.sum(axis=axes)
    grad_normalised = grad_output * gain
    mean = grad_normalised.mean(axis=-1, keepdims=True)
    projection = (grad_normalised * normalised).mean(axis=-1, keepdims=True)
    return (grad_normalised - mean - normalised * projection) / deviation, grad_gain, grad_bias
'''
}
SOFTMAX = """\
exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
# The stub of a bug hunt: it contains norm_backward except for the bug.
STUB = SOLUTIONS["solutions/attention.py"].partition("def norm_backward")[2].replace(" - mean", "")


def bodies_in(text, known=()):
    return [(body.name, line) for body, line in SecretBodies(SOLUTIONS, known).find(text)]


def lines_of_norm(first, last):
    lines = SOLUTIONS["solutions/attention.py"].split("    normalised, gain")[1].split("\n")
    return textwrap.dedent("\n".join(["    normalised, gain" + lines[0], *lines[1:]][first:last]))


# -------------------------------------------------------------------------------------------- disguised leaks


@pytest.mark.parametrize(
    "text",
    [
        SOFTMAX,
        SOFTMAX.replace("exponentials", "e").replace("scores", "s"),
        SOFTMAX.replace("scores", "row").replace("exponentials", "scores"),
        SOFTMAX.replace("\n", "  # (..., n)\n\n\n"),
        SOFTMAX.replace("\n", "; ", 1),
        SOFTMAX.replace("(axis=-1, keepdims=True)", "(\n    axis=-1,  # the row\n    keepdims=True\n)"),
        SOFTMAX.replace("\n", "\nprint(exponentials.shape)\n", 1),
        SOFTMAX.replace("\n", "\n\nNow divide by the sum, so that the weights add up to one:\n\n", 1),
    ],
    ids=["as is", "renamed", "names swapped", "comments", "one line", "broken up", "a line between", "prose between"],
)
def test_a_disguised_body_is_found(text):
    assert bodies_in(f"import numpy as np\n\n{text}\n") == [("softmax", 3)]


def test_a_body_of_one_statement_is_found():
    assert bodies_in("mask = np.tril(np.ones((T, T), dtype=bool))") == [("causal_mask", 1)]
    assert bodies_in("mask = (tokens != pad)[..., np.newaxis, :]") == [("padding_mask", 1)]


def test_part_of_a_long_body_is_a_leak():
    assert bodies_in(lines_of_norm(3, 8)) == [("norm_backward", 1)]
    assert bodies_in(lines_of_norm(3, 5)) == []


def test_the_fixed_line_of_a_bug_hunt_is_a_leak_together_with_its_neighbours():
    assert bodies_in(STUB, known=[STUB]) == []
    assert [name for name, _ in bodies_in(lines_of_norm(0, 20), known=[STUB])] == ["norm_backward"]
    assert bodies_in(lines_of_norm(9, 20), known=[STUB]) == []


METHODS = """
class Short:
    def forward(self, x, weight):
        return np.maximum(x @ weight.swapaxes(-1, -2), 0.0).sum(axis=-1, keepdims=True)


class Long:
    def forward(self, x, weight, bias):
        hidden = np.tanh(x @ weight.swapaxes(-1, -2) + bias[..., None, :]).clip(-0.5, 0.5)
        gates = np.exp(-hidden.cumsum(axis=-2)) * np.where(hidden > 0, hidden, 0.25)
        return np.maximum(gates @ weight, hidden.mean(axis=-1, keepdims=True)) - gates.std(axis=-1, keepdims=True)
"""


def test_methods_of_the_same_name_are_separate_bodies():
    short, long = METHODS.split("\n\n\n")
    secret = SecretBodies({"solutions/model.py": METHODS})
    assert [line for _, line in secret.find(METHODS)] == [4, 9]
    assert [body.shape for body, _ in secret.find(long)] == [secret.bodies[1].shape]
    assert [body.shape for body, _ in secret.find(short)] == [secret.bodies[0].shape]


# ------------------------------------------------------------------------------ idioms and other harmless texts


@pytest.mark.parametrize(
    "text",
    [
        "largest = x.max(axis=-1, keepdims=True)",
        "row = row - row.max(axis=-1, keepdims=True)\nprint(row.sum(axis=-1, keepdims=True))",
        "weights = weights / weights.sum(axis=-1, keepdims=True)",
        "strengths = np.array([math.exp(q @ key) for key in keys])\nstrengths / strengths.sum()",
        "exponentials = np.exp(scores)\nexponentials / exponentials.sum(axis=-1, keepdims=True)",
        "e = np.exp(row - row.max())\ne / e.sum()",
        "e = np.exp(scores - offset.max(axis=-1, keepdims=True))\nshifted / total.sum(axis=-1, keepdims=True)",
        "future = np.triu(np.ones((length, length), dtype=bool), k=1)",
        "shown = (words == end)[..., np.newaxis, :]",
        "mean = x.mean(axis=-1, keepdims=True)\nvariance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)",
        "Error: queries and keys differ in their last axis so that no dot product of the two can be taken and there "
        "are neither scores nor weights nor any output until one of them has been brought to the size of the other",
        SOFTMAX.replace("\n", "\n" + "And so we go on, for a long while. " * 40 + "\n", 1),
        " ".join(f"word{i}" for i in range(200)),
        "",
    ],
)
def test_an_idiom_that_a_body_contains_is_not_a_leak(text):
    assert bodies_in(text) == []


def test_a_body_that_students_have_already_is_not_a_leak():
    assert bodies_in(SOFTMAX, known=[SOLUTIONS["solutions/attention.py"]]) == []


# ----------------------------------------------------------------------------------------- files of every kind


def secrets(seed=None):
    return gate.Secrets(SecretBodies(SOLUTIONS), frozenset({"attention"}), seed=seed)


def leaks_of(name, data, seed=None):
    data = data.encode() if isinstance(data, str) else data
    return [str(leak) for leak in gate.scan_bytes(name, data, secrets(seed))]


def notebook_with(cell):
    cells = [nbformat.v4.new_markdown_cell("# Title\n\nText.", id="a"), cell]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


def zipped(name, data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


BODY = "the body of softmax, from solutions/attention.py"


def test_a_notebook_is_searched_in_sources_outputs_and_metadata():
    code = notebook_with(nbformat.v4.new_code_cell(SOFTMAX, id="b"))
    line = code.split("\n").index('    "exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))\\n",') + 1
    assert leaks_of("a.ipynb", code) == [f"a.ipynb:{line}: {BODY}"]

    broken_up = notebook_with(nbformat.v4.new_code_cell("np.tril(\n    np.ones(\n        (n, n), dtype=bool))", id="b"))
    assert [leak.partition(": ")[2] for leak in leaks_of("a.ipynb", broken_up)] == [
        BODY.replace("softmax", "causal_mask")
    ]

    shown = nbformat.v4.new_output("display_data", {"text/html": Highlight2HTML()(SOFTMAX)})
    output = notebook_with(nbformat.v4.new_code_cell("1", id="b", outputs=[shown]))
    assert "<span" in output
    assert [leak.partition(": ")[2] for leak in leaks_of("a.ipynb", output)] == [BODY]

    metadata = notebook_with(nbformat.v4.new_code_cell("1", id="b", metadata={"hint": SOFTMAX}))
    assert [leak.partition(": ")[2] for leak in leaks_of("a.ipynb", metadata)] == [BODY]


def test_html_is_searched_when_highlighted_when_escaped_and_in_attributes():
    page = f"<html>\n<p>\n{Highlight2HTML()(SOFTMAX)}\n</html>"
    assert "<span" in page and leaks_of("a.html", page) == [f"a.html:3: {BODY}"]
    escaped = html.escape("mask = causal_mask(tokens.shape[-1]) & padding_mask(tokens, pad)")
    assert leaks_of("a.html", f"<pre>\n{escaped}</pre>") == [f"a.html:2: {BODY.replace('softmax', 'target_mask')}"]
    assert leaks_of("a.html", f'<img\nsrc="x" alt="{SOFTMAX}">') == [f"a.html:1: {BODY}"]


def test_scripts_search_indices_and_sources_are_searched():
    index = f"Search.setIndex({json.dumps({'text': SOFTMAX})})"
    assert leaks_of("searchindex.js", index) == [f"searchindex.js:1: {BODY}"]
    assert leaks_of("_sources/a.md", f"Text\n\n{SOFTMAX}") == [f"_sources/a.md:3: {BODY}"]


def test_zip_files_and_keys_are_searched_inside():
    assert leaks_of("a.zip", zipped("b/c.py", SOFTMAX)) == [f"a.zip/b/c.py:1: {BODY}"]
    assert leaks_of("a.zip", zipped("b.zip", zipped("c.py", SOFTMAX))) == [f"a.zip/b.zip/c.py:1: {BODY}"]
    key = io.BytesIO()
    np.savez_compressed(key, index=np.array(SOFTMAX))
    assert leaks_of("a.npz", key.getvalue()) == [f"a.npz/index.npy:2: {BODY}"]
    page = Highlight2HTML()(SOFTMAX)
    assert leaks_of("a.epub", zipped("chapters/b.xhtml", page)) == [f"a.epub/chapters/b.xhtml:1: {BODY}"]


@pytest.mark.parametrize(
    "text, leak",
    [
        ("x = 1\n    ### BEGIN SOLUTION", "2: a hidden marker: ### BEGIN SOLUTION"),
        ('{"a": "# END HIDDEN TESTS"}', "1: a hidden marker: # END HIDDEN TESTS"),
        ('{"metadata": {"autograder": {\n"stub": ""}}}', '1: a hidden marker: "autograder": {\n"stub"'),
        ("\n<function softmax at 0x7f10>", "2: an output that prints the function softmax"),
        ("<p>&lt;function softmax at 0x7f10&gt;", "1: an output that prints the function softmax"),
        ("from solutions.attention import softmax", "1: an import of the solutions in solutions/attention.py"),
        (
            "\n<i>from</i> <i>solutions.attention</i> <i>import</i>",
            "2: an import of the solutions in solutions/attention.py",
        ),
        ("import solutions.attention as a", "1: an import of the solutions in solutions/attention.py"),
        ("from solutions import attention", "1: an import of the solutions in solutions/attention.py"),
    ],
)
def test_other_traces_of_solutions_are_leaks(text, leak):
    assert leaks_of("a.ipynb", text) == [f"a.ipynb:{leak}"]


@pytest.mark.parametrize(
    "text",
    [
        "Between BEGIN SOLUTION and END SOLUTION stands the solution.",
        "from solutions.backward import linear",
        "The function softmax at work.",
    ],
)
def test_text_that_only_looks_like_a_trace_is_not_a_leak(text):
    assert leaks_of("a.md", text) == []


def test_the_secret_seed_is_found_in_any_file():
    assert leaks_of("a.txt", "x 123456789012345 y", seed=123456789012345) == ["a.txt:1: the secret seed"]
    assert leaks_of("a.png", b"\x89PNG 123456789012345", seed=123456789012345) == ["a.png:1: the secret seed"]
    assert leaks_of("a.zip", zipped("b.txt", "123456789012345 " * 50), seed=123456789012345) == [
        "a.zip/b.txt:1: the secret seed"
    ]


def test_instructors_files_and_symbolic_links_are_leaks(tmp_path):
    assert leaks_of("release/gradebook.db", b"") == ["release/gradebook.db:1: an instructor's file"]
    assert leaks_of("release/lti_key.pem", b"") == ["release/lti_key.pem:1: an instructor's file"]
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "link").symlink_to("/etc/hostname")
    assert [str(leak) for leak in gate.scan([tmp_path / "book"], secrets())] == ["book/link:1: a symbolic link"]


def test_the_pixels_of_a_picture_are_not_taken_for_code():
    pixels = base64.b64encode(bytes(range(256)) * 40).decode()
    assert leaks_of("a.svg", f'<image href="data:image/png;base64,{pixels}"/>') == []


# ------------------------------------------------------------------------------- during a release, in the book


def refused(repo, course, match):
    before = {p: p.read_bytes() for p in course.rglob("*") if p.is_file()}
    with pytest.raises(ReleaseRefused, match=match):
        publish(course, repo=repo)
    assert {p: p.read_bytes() for p in course.rglob("*") if p.is_file()} == before


def test_a_solution_in_a_demonstration_stops_the_release(copy):
    change(copy[0], "print(softmax(", f"scores = np.ones(3)\n{SOFTMAX}print(softmax(")
    file = f"release/{CHAPTER}/{CHAPTER}.ipynb"
    text = (copy[1] / file).read_text(encoding="utf-8")
    line = text.count("\n", 0, text.index("print(softmax")) + 2
    refused(*copy, rf"{file}:{line}: {BODY}\n.*{CHAPTER}.zip/{CHAPTER}.ipynb:{line}: {BODY}")


def test_a_cell_that_imports_the_reference_stops_the_release(copy):
    change(copy[0], "print(softmax(", "from solutions.attention import softmax\nprint(softmax(")
    refused(*copy, r"ipynb:\d+: an import of the solutions in solutions/attention.py")


def test_a_stub_that_passes_its_check_stops_the_release(copy, monkeypatch):
    helper = types.ModuleType("helper")
    helper.answer = read_chapter(CHAPTER, copy[0]).exercises[0].reference
    monkeypatch.setitem(sys.modules, "helper", helper)
    file = copy[0] / "chapters" / f"{CHAPTER}.md"
    text = file.read_text(encoding="utf-8").replace("import math\n", "import math\nfrom helper import answer\n", 1)
    file.write_text(text.replace("    raise NotImplementedError", "    return answer(scores)", 1), encoding="utf-8")
    refused(*copy, "softmax: the stub passes its check")


def test_a_solution_that_fails_its_check_stops_the_release(copy, monkeypatch):
    exercise = read_chapter(CHAPTER, copy[0]).exercises[0]
    monkeypatch.setattr("autograder.release.notebook.solved", lambda stub, reference, given: stub)
    refused(*copy, f"{exercise.name}: the solution fails its check")


def test_a_bundle_may_contain_the_solutions_of_earlier_chapters(copy):
    repo, _ = copy
    first = read_chapter(CHAPTER, repo)
    later = Chapter("02_backward", first.text, ())
    folder = repo / "solutions"
    assert gate.scan([folder], gate.secrets_of_bundle(first, None, repo))
    assert not gate.scan([folder], gate.secrets_of_bundle(later, None, repo))
    # A later chapter may have the same solution as an earlier one: students already have it, so it is not a leak.
    text = (folder / "attention.py").read_text(encoding="utf-8")
    (folder / "backward.py").write_text(text.replace("Chapter 1", "Chapter 2"), encoding="utf-8")
    assert not gate.scan([folder], gate.secrets_of_bundle(later, None, repo))


def test_the_stub_of_a_bug_hunt_may_resemble_its_solution(copy):
    repo, _ = copy
    solution = inspect.getsource(read_chapter(CHAPTER, repo).exercises[-1].reference)
    page = repo / "page.md"
    stub = solution.replace("np.maximum(largest,", "np.minimum(largest,")
    assert stub != solution
    page.write_text(stub, encoding="utf-8")
    assert gate.scan([page], gate.secrets_of_book(repo=repo))
    change(repo, stubs(text_of(CHAPTER, repo))["repaired_attention"], stub)
    assert not gate.scan([page], gate.secrets_of_book(repo=repo))
    page.write_text(solution, encoding="utf-8")
    assert gate.scan([page], gate.secrets_of_book(repo=repo))


def test_the_sources_of_the_pages_contain_no_solution():
    """Here a contributor learns it before `make` has built the book."""
    assert gate.scan(sorted((REPO / "chapters").glob("*.md")), gate.secrets_of_book()) == []


def test_only_its_hash_makes_a_file_harmless(copy):
    repo, course = copy
    page = course / "numpy.py"
    page.write_text(SOFTMAX, encoding="utf-8")
    assert gate.scan_book(page, repo=repo)
    (repo / "book" / "live").mkdir(parents=True)
    lock = {"files": [{"name": "numpy.py", "sha256": hashlib.sha256(page.read_bytes()).hexdigest()}]}
    (repo / "book" / "live" / "assets.json").write_text(json.dumps(lock), encoding="utf-8")
    assert gate.scan_book(page, repo=repo) == []
    page.write_text(SOFTMAX + "\n", encoding="utf-8")
    assert gate.scan_book(page, repo=repo)


def test_only_its_content_makes_a_divided_zip_file_harmless(copy):
    repo, course = copy
    library = course / "library.zip"
    with zipfile.ZipFile(library, "w") as archive:
        archive.writestr("numpy.py", SOFTMAX)
    assert gate.scan_book(library, repo=repo)
    (repo / "book" / "live" / "bytecode").mkdir(parents=True)
    digests = {"divided": {"library.zip": content_digest(library.read_bytes())}}
    (repo / "book" / "live" / "bytecode" / "stored.json").write_text(json.dumps(digests), encoding="utf-8")
    assert gate.scan_book(library, repo=repo) == []
    with zipfile.ZipFile(library, "a") as archive:
        archive.writestr("another.py", "")
    assert gate.scan_book(library, repo=repo)


def test_the_book_may_contain_no_solution_of_any_chapter(copy, capsys):
    repo, course = copy
    pages = course / "html"
    pages.mkdir()
    (pages / "index.html").write_text(Highlight2HTML()(stubs(text_of(CHAPTER, repo))["softmax"]))
    assert gate.scan_book(pages, repo=repo) == []
    assert gate.main([str(pages), "--course", str(course)]) == 0
    (pages / "index.html").write_text(f"\n{Highlight2HTML()(SOFTMAX)}")
    assert [str(leak) for leak in gate.scan_book(pages, repo=repo)] == [f"html/index.html:2: {BODY}"]
    assert gate.main([str(pages), "--course", str(course)]) == 1
    assert f"html/index.html:2: {BODY}" in capsys.readouterr().out


def test_no_page_of_the_book_prints_a_solution_in_its_source():
    pages = sorted((REPO / "chapters").glob("*.md"))
    assert gate.scan(pages, gate.secrets_of_book()) == []


def test_a_path_that_does_not_exist_is_an_error_of_the_user(tmp_path, capsys):
    missing = tmp_path / "html"
    with pytest.raises(UserError, match="html: there is no such file or folder"):
        gate.scan([missing], secrets())
    assert gate.main([str(missing), "--course", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith(f"autograder.release.gate: {missing}: there is no such file")


def test_an_epub_file_is_searched_like_a_folder(tmp_path, capsys):
    file = tmp_path / "book.epub"
    file.write_bytes(zipped("a.xhtml", "Nothing of ours"))
    assert gate.main([str(file), "--course", str(tmp_path)]) == 0
    assert f"{file} gives nothing away, and lends no solutions." in capsys.readouterr().out
