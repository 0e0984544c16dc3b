"""Exercises that use functions of earlier chapters: what a page says about them, and how a reader borrows them."""

import importlib
import inspect
import json
import shutil

import nbformat
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key, save_public_keys
from autograder.chapter.chapter import read_chapter
from autograder.chapter.targets import read_targets
from autograder.errors import UserError
from autograder.layout import REPO, chapter_names, exercise_names, solution_modules
from autograder.release import gate
from autograder.release.bundle import modules
from autograder.release.lending import (
    FOLDER,
    exercises_of_book,
    import_of,
    last_lent_chapter,
    lent_files,
    lent_helpers,
    lent_sources,
    sentence,
)
from autograder.release.notebook import source_notebook
from book.live.in_page import cell_run, exercise_run
from book.live.in_page.own_solutions import Reader, chapters_in, compiled, solutions_by
from book.live.page_needs import module_of, used_functions
from book.live.self_study import helper_functions
from book.serve import serving
from check import bundle_data, check, key
from tests.book.conftest import build_book, jupyter_book
from tests.book.live.conftest import configure, opened_by_new_reader, write_book
from tests.book.live.lasting_python import WithSecondTab
from tests.book.live.reader import RIGHT, Page, only_in_chromium
from tests.book.live.test_given_cells import Tries
from tests.choosing import thinned

pytestmark = pytest.mark.book

WRONG = "def softmax(scores):\n    return scores"
WEIGHTS = """def attention_weights(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return softmax(queries @ np.swapaxes(keys, -1, -2) / math.sqrt(keys.shape[-1]))
"""
MASKED = """def masked_softmax(scores, mask):
    largest = scores.max(axis=-1, keepdims=True, where=mask, initial=-np.inf)
    lowest = np.where(np.isfinite(largest), largest, 0)
    sees = mask.any(axis=-1, keepdims=True)
    weights = softmax(np.where(mask, scores - lowest, -np.inf if sees.all() else -1e30).astype(scores.dtype))
    return np.where(mask, weights, 0).astype(scores.dtype)
"""


def choose(folder, choice):
    """Write the entry `lend` into a book's configuration."""
    configure(folder, lambda config: config["sphinx"]["config"].update(lend=choice))


@pytest.fixture(scope="module")
def book(python_for_pages, tmp_path_factory):
    """The folder of a built book of chapters 1 and 3, which lends chapter 1."""
    folder = write_book(tmp_path_factory.mktemp("lending"), ["01_attention", "03_masking"], execute=False)
    choose(folder, "through 1")
    build_book(folder)
    return folder


@pytest.fixture(scope="module")
def site(book):
    with serving(book / "_build" / "html", WithSecondTab) as address:
        yield address


@pytest.fixture
def new_reader(browser, site, lasting_python):
    """new_reader(chapter) -> the page of a reader who opens this book for the first time."""
    return lambda chapter: opened_by_new_reader(browser, site, chapter)


# ------------------------------------------------------------------------------------------------ in a page


def test_an_exercise_waits_for_an_earlier_one_until_it_is_solved_or_borrowed(new_reader, browser, site):
    masking = new_reader("03_masking")
    uses = "document.querySelector('#live-masked_softmax .live-uses')"
    press = f"[...{uses}.querySelectorAll('button')].find(button => !button.hidden).click()"
    assert "softmax (chapter 1: not solved yet)" in browser.evaluate(f"{uses}.innerText")
    assert browser.evaluate(f"{uses}.querySelector('a').pathname").endswith("/01_attention.html")

    waiting = masking.run("masked_softmax", MASKED)
    assert not waiting.passes and waiting.status == "Waits for softmax."
    assert "points" not in waiting.shown
    assert waiting.shown.endswith("waits for softmax: solve it in chapter 1, or borrow it above. Then run it again.")
    assert masking.ask("masked_softmax", "box.querySelector('.live-output a').hash") == "#live-softmax"
    assert masking.ask("masked_softmax", "box.querySelector('.live-hints').innerText") == ""

    browser.evaluate(press)
    assert "softmax (chapter 1: borrowed)" in browser.evaluate(f"{uses}.innerText")
    assert masking.run("masked_softmax").passes
    masking.open()
    assert "softmax (chapter 1: borrowed)" in browser.evaluate(f"{uses}.innerText")
    browser.evaluate(press)
    assert "softmax (chapter 1: not solved yet)" in browser.evaluate(f"{uses}.innerText")
    assert masking.run("masked_softmax").status == "Waits for softmax."

    attention = Page(browser, site, "01_attention")
    attention.open()
    assert attention.run("softmax", RIGHT).passes
    masking.open()
    assert "softmax (chapter 1: solved)" in browser.evaluate(f"{uses}.innerText")
    assert masking.run("masked_softmax").passes


def test_a_book_without_an_address_for_reports_offers_none(new_reader):
    attention = new_reader("01_attention")
    assert not attention.run("softmax", WRONG).passes
    assert attention.ask("softmax", "box.querySelector('.live-report') === null")


@pytest.mark.thorough("exercises that borrow and cells that wait are each tested")
@only_in_chromium
def test_a_cell_of_the_book_runs_with_a_borrowed_function(new_reader, browser):
    masking = Tries(new_reader("03_masking"))
    rests = "JSON.parse(document.getElementById('live-exercises').textContent).cells.map(cell => cell.rests ?? [])"
    cell = f"cell-{browser.evaluate(rests).index(['softmax'])}"
    uses = "cell.querySelector('.live-uses')"
    assert "(chapter 1: not solved yet)" in masking.ask(cell, f"{uses}.innerText")
    masking.press(cell, "Try it")
    assert "chapter 1" in masking.run(cell)[0]
    masking.ask(cell, f"{uses}.querySelector('button:not([hidden])').click()")
    assert "(chapter 1: borrowed)" in masking.ask(cell, f"{uses}.innerText")
    assert masking.run(cell)[0] in ("Done.", "The cell ran, and printed nothing.")


@pytest.mark.thorough("test_live_pages tries a page offline")
@only_in_chromium
def test_borrowed_functions_are_there_offline(book, browser):
    package = "new URL(JSON.parse(document.getElementById('live-exercises').textContent).lent.package, location)"
    kept = f"caches.match({package}.href).then(response => !!response)"
    # A separate server has a separate cache; what other tests have borrowed may still be on its way into theirs.
    with serving(book / "_build" / "html") as site:
        masking = opened_by_new_reader(browser, site, "03_masking")
        assert not masking.run("masked_softmax", MASKED).passes
        assert not browser.evaluate(kept), "nothing is kept before it is used"
        browser.evaluate("document.querySelector('#live-masked_softmax .live-uses button:not([hidden])').click()")
        assert masking.run("masked_softmax").passes
        browser.wait(kept)


def test_a_reader_who_is_stuck_borrows_an_exercise_which_then_still_does_not_pass(new_reader, browser):
    attention = new_reader("01_attention")
    helps = "document.querySelector('#live-softmax .live-hints').innerText"
    for _ in range(3):
        assert browser.evaluate(helps) == ""
        attention.run("softmax", WRONG)
    for number in (1, 2):
        assert "Borrow" not in browser.evaluate(helps)
        attention.ask("softmax", "box.querySelector('.live-hints button').click()")
        browser.wait(f"!{helps}.includes('Hint {number}')")
    attention.press("softmax", "Borrow softmax from the book")
    assert attention.ask("softmax", "box.querySelector('.live-mark').innerText") == "○ borrowed"
    assert attention.progress == "0 of 5 exercises pass, 1 borrowed."
    assert attention.run("attention_weights", WEIGHTS).passes
    assert attention.progress == "1 of 5 exercises pass, 1 borrowed."
    copied = attention.run("softmax", import_of("softmax", "attention"))
    assert not copied.passes and "the book's own" in copied.shown
    assert attention.run("softmax", RIGHT).passes
    assert attention.progress == "2 of 5 exercises pass."


@only_in_chromium
def test_a_reader_who_has_passed_compares_their_function_with_the_books(new_reader, browser, site):
    attention = new_reader("01_attention")
    offer = "box.querySelector('.live-comparison > summary')"
    text = "[...box.querySelectorAll('.live-comparison pre')].map(pre => pre.textContent.trimEnd())"
    assert not attention.run("softmax", WRONG).passes
    assert not attention.ask("softmax", f"{offer}.checkVisibility()")

    own = RIGHT + "    # <b>mine</b>"
    assert attention.run("softmax", own).passes
    assert attention.ask("softmax", f"{offer}.innerText") == "Compare with the book’s"
    attention.ask("softmax", f"{offer}.click()")
    browser.wait(f"(box => {text}[1])(document.getElementById('live-softmax'))")
    assert attention.ask("softmax", text) == [own, inspect.getsource(find_exercise("softmax").reference).rstrip()]

    columns = "document.querySelectorAll('#live-softmax .live-comparison section')"
    for width, n_columns in ((1200, 2), (390, 1)):
        browser.resize(width)
        browser.wait(f"new Set([...{columns}].map(column => column.getBoundingClientRect().x)).size === {n_columns}")

    attention.write("softmax", WRONG)
    assert attention.ask("softmax", text)[0] == own, "what passed, not what the reader tries since"
    masking = Page(browser, site, "03_masking")
    masking.open()
    assert masking.run("masked_softmax", MASKED).passes
    assert not masking.ask("masked_softmax", f"{offer}.checkVisibility()"), "this book lends chapter 1 alone"


def test_the_progress_lists_as_borrowed_what_the_book_lends(new_reader, browser):
    progress = new_reader("progress")
    chapters = "JSON.parse(document.getElementById('live-exercises').textContent).chapters"
    borrow = "({ name, version }) => bookStorage.write(`exercise ${name}`, { version, borrowed: true })"
    browser.evaluate(f"{chapters}.forEach(chapter => chapter.exercises.slice(0, 1).forEach({borrow}))")
    progress.open()
    parts = browser.evaluate(
        "[...document.querySelectorAll('.live-book section p:first-of-type')].map(p => p.innerText)"
    )
    assert "0 of 5 exercises passed, 1 borrowed." in parts[0]
    assert "borrowed" not in parts[1], "this book lends chapter 1 alone"


@pytest.mark.thorough("the page of such a book is tested")
def test_the_book_lends_the_chosen_chapters_alone(book):
    html = book / "_build" / "html"
    assert gate.scan_book(html, last_lent=1) == []
    assert any("lent-" in leak.file for leak in gate.scan_book(html)), "in a book that lends nothing"


def test_a_wrong_choice_ends_the_build(tmp_path):
    folder = write_book(tmp_path, execute=False)
    choose(folder, "some")
    built = jupyter_book(folder)
    assert built.returncode != 0
    assert "write `nothing`, `all`, or `through N`" in built.stdout + built.stderr


# ------------------------------------------------------------------------------------------------ the choice


def test_the_choice_is_one_of_three_forms():
    last = len(chapter_names())
    assert [last_lent_chapter(choice) for choice in ("nothing", "through 3", "all")] == [0, 3, last]
    for wrong in ("through 0", f"through {last + 1}", "chapter 3", 3, None, True, ["all"]):
        with pytest.raises(UserError, match="write `nothing`, `all`, or `through N`"):
            last_lent_chapter(wrong)


def test_a_build_says_what_it_lends():
    assert [sentence(0), sentence(1)] == ["no solutions", "the solutions of chapter 1"]
    assert sentence(3) == "the solutions of chapters 1 to 3"


def test_lent_files_contain_their_chapters_alone_and_import_each_other():
    assert lent_files(0) == {}
    assert set(lent_files(3)) == {f"{FOLDER}/{name}.py" for name in ("__init__", "attention", "backward", "masking")}
    masking = lent_files(3)[f"{FOLDER}/masking.py"].decode()
    assert "from solutions.lent.attention import" in masking and '"""' not in masking


def test_sources_to_compare_with_are_those_of_lent_exercises_with_docstrings_and_comments():
    every = json.loads(lent_sources(len(chapter_names())))
    assert exercises_of_book() - every.keys() == {"MultiHeadAttention", "EncoderLayer", "DecoderLayer"}, "of PyTorch"
    assert every["masked_softmax"] == inspect.getsource(find_exercise("masked_softmax").reference).rstrip()
    sources = json.loads(lent_sources(1))
    assert sorted(sources) == sorted(exercise_names("01_attention"))
    assert '"""Compute attention one key at a time' in sources["repaired_attention"]
    assert "# A row's largest score" in sources["repaired_attention"]
    assert "def scaled_scores(" in sources["attention_weights"], "no page shows it"
    assert "def softmax(" not in sources["attention_weights"], "an exercise"
    assert json.loads(lent_sources(0)) == {}


def test_the_gate_lets_the_sources_of_lent_exercises_through_and_no_others(tmp_path):
    (tmp_path / "lent.json").write_bytes(lent_sources(1))
    assert gate.scan_book(tmp_path, last_lent=1) == []
    (tmp_path / "lent.json").write_bytes(lent_sources(3))
    leaks = gate.scan_book(tmp_path, last_lent=1)
    assert any("the body of masked_softmax, from solutions/masking.py" in leak.description for leak in leaks)


def test_a_given_module_that_calls_a_lent_chapter_is_lent_with_those_that_call_it():
    """A borrowed multi-head attention must not call a masked softmax that the reader has not written."""
    masked_attention = f"{FOLDER}/masked_attention.py"
    assert "from solutions.lent.masked_attention import" in lent_files(4)[f"{FOLDER}/multihead.py"].decode()
    assert "from solutions.lent.masking import" in lent_files(4)[masked_attention].decode()
    assert f"{FOLDER}/heads.py" not in lent_files(4), "it calls no chapter"


# ------------------------------------------------------------------------------------------------ without a browser


@pytest.fixture
def key_of_masked_softmax(tmp_path, monkeypatch):
    """The public key of masked_softmax, where `check` looks for keys."""
    monkeypatch.setenv(bundle_data.FOLDER, str(tmp_path))
    monkeypatch.chdir(tmp_path)  # away from the modules of solutions/
    (tmp_path / "keys").mkdir()
    key.save(public_key(find_exercise("masked_softmax")), tmp_path / "keys" / "masked_softmax.npz")


def test_a_check_that_calls_an_unsolved_exercise_waits_for_it(key_of_masked_softmax):
    setup = "import numpy as np\nfrom solutions.attention import softmax"
    job = {"name": "masked_softmax", "cells": [["masked_softmax", MASKED]], "setup": setup, "helpers": {}}
    unsolved = {"number": 1, "setup": "import numpy as np", "names": ["softmax"], "cells": []}
    assert exercise_run.run(job | {"earlier": [unsolved]})["waits"] == ["softmax"]
    answer = exercise_run.run(job | {"earlier": [unsolved | {"cells": [["softmax", RIGHT]]}]})
    assert answer["passed"] and answer["waits"] == []


def test_check_in_a_notebook_waits_for_an_unsolved_exercise(key_of_masked_softmax, capsys):
    unsolved = {"number": 1, "setup": "import numpy as np", "names": ["softmax"], "cells": []}
    namespace = {"__name__": "__main__"}
    with solutions_by(Reader([unsolved], {})):
        exec("import numpy as np\nfrom solutions.attention import softmax", namespace)
        exec(compiled("masked_softmax", MASKED), namespace)
        check(namespace["masked_softmax"])
    shown = capsys.readouterr().out
    assert "masked_softmax waits for another exercise" in shown.replace("`", "")
    assert "chapter 1" in shown and "points" not in shown


GIVING = {"number": 1, "setup": "def given(x):\n    return mine(x) + 1", "names": ["mine"]}


def test_a_given_function_of_an_earlier_chapter_calls_the_readers_functions():
    reader = Reader([GIVING | {"cells": [["mine", "def mine(x):\n    return 2 * x"]]}], {})
    assert reader.function("given")(3) == 7


def test_given_functions_in_a_folder_of_notebooks_are_found(tmp_path):
    chapter = read_chapter("05_residual")
    file = tmp_path / "05_residual.ipynb"
    nbformat.write(source_notebook(chapter, read_targets(REPO / "chapters"), {}), file)
    (found,) = chapters_in(tmp_path)
    assert "def feed_forward(" in found["setup"] and "def add_norm(" in found["setup"]


def test_a_page_waits_for_what_a_given_function_calls():
    chapter = read_chapter("07_cross")
    (layer,) = (exercise for exercise in chapter.exercises if exercise.name == "decoder_layer")
    used = used_functions(layer, chapter)
    assert "layer_norm" in used and not {"add_norm", "feed_forward"} & set(used)
    assert not {"add_norm", "feed_forward"} & helper_functions(chapter).keys()


def test_every_lent_module_runs_beside_the_reader_s_functions(tmp_path, monkeypatch):
    for path, content in lent_files(len(chapter_names())).items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    shutil.copy(REPO / "solutions" / "parameters.py", tmp_path / "solutions")
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    source = "from solutions.lent.training import train_step\nfrom solutions.model import forward\nforward()"
    job = {"name": "mine", "cells": [["mine", source]], "setup": "", "earlier": [], "helpers": {}}
    assert exercise_run.run(job)["waits"] == ["forward"]


# ------------------------------------------------------------------------------------------------ all exercises


def write_modules_of_page(folder, chapter):
    """Write the modules that a page unpacks for its Python if it lends everything: its helpers and all lent ones."""
    solved = {f"solutions/{name}.py" for name, number in solution_modules().items() if number is not None}
    helpers = {path: content for path, content in modules(chapter).items() if path not in solved}
    for path, content in (helpers | lent_files(len(chapter_names()))).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def answers(chapter):
    """Return name -> cell of each NumPy exercise of a chapter, as a reader has solved it."""
    notebook = source_notebook(chapter, read_targets(REPO / "chapters"), {})
    cells = [(cell.metadata.nbgrader.grade_id, cell.source) for cell in notebook.cells]
    names = {exercise.name for exercise in chapter.exercises}  # without the recipe and the report of chapter 10
    return {name: source for name, source in cells if name in names and "nn.Module" not in source}


def borrowed_chapters(before):
    """Return the earlier chapters as a Reader takes them, with the book's function for each exercise."""
    chapters = []
    for other in map(read_chapter, chapter_names()[: before - 1]):
        imports = [[e.name, import_of(e.name, module_of(e))] for e in other.exercises]
        about = {"number": other.number, "setup": other.setup, "names": [name for name, _ in imports]}
        chapters.append(about | {"cells": imports})
    return chapters


@pytest.mark.parametrize("name", thinned(chapter_names(), ["03_masking"], "the same for every chapter"))
def test_the_book_s_answers_pass_with_borrowed_functions_and_wait_without(name, tmp_path, monkeypatch):
    chapter = read_chapter(name)
    write_modules_of_page(tmp_path, chapter)
    save_public_keys(tmp_path / "keys", [name])
    monkeypatch.setenv(bundle_data.FOLDER, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    lent = lent_helpers(chapter.number - 1)
    helpers = helper_functions(chapter)
    borrowed = borrowed_chapters(before=chapter.number)
    unsolved = [about | {"cells": []} for about in borrowed]
    exercises_of_earlier_chapters = {name for about in unsolved for name in about["names"]}
    cells = []
    for exercise, source in answers(chapter).items():
        cells.append([exercise, source])
        job = {"name": exercise, "cells": cells, "setup": chapter.setup}
        answer = exercise_run.run(job | {"earlier": borrowed, "helpers": lent | helpers})
        assert answer["passed"], (exercise, answer)
        needed = set(used_functions(exercises[exercise], chapter)) - helpers.keys()
        waits = set(exercise_run.run(job | {"earlier": unsolved, "helpers": helpers})["waits"])
        # The book's own answers also call functions that no chapter imports, such as scaled_scores.
        assert waits if needed else not waits & exercises_of_earlier_chapters, exercise


@pytest.mark.thorough("all of chapter 9; single exercises and cells are tested")
@pytest.mark.parametrize("own", thinned([True, False], [True], "borrowed functions take the same way"))
def test_cells_that_replace_a_function_reach_the_functions_that_call_it(own, tmp_path, monkeypatch):
    """Neither the borrowed functions nor the reader's are in the modules that chapter 9 imports."""
    chapter = read_chapter("09_training")
    write_modules_of_page(tmp_path, chapter)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    earlier = borrowed_chapters(before=9)
    if own:
        earlier[-1]["cells"] = list(answers(read_chapter("08_model")).items())
    sources = [cell.source for cell in chapter.cells if cell.part in ("setup", "exercise", "demo")]
    (last,) = (i for i, source in enumerate(sources) if "finds(keeps_the_past" in source)
    cells = [[f"cell-{i}", source] for i, source in enumerate(sources[: last + 1])]
    helpers = lent_helpers(8) | helper_functions(chapter)
    answer = cell_run.run({"cells": cells, "rests": [], "earlier": earlier, "helpers": helpers})
    assert (answer["error"], answer["waits"]) == ("", ""), answer
