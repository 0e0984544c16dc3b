"""Buttons for Colab and Binder: their addresses and files, and a book without buttons."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
import yaml
from sphinx.errors import ConfigError

from book.live.built_files import ALL
from book.live.launch_buttons import add_buttons, links, publish, read_settings, targets, with_download
from book.live.page_data import KEY
from book.live.self_study import unzipped
from tests.book.conftest import ROOT, jupyter_book, make_little_book
from tests.book.conftest import page as write_page
from tests.book.live.reader import RIGHT
from tests.patience import SECONDS

pytestmark = pytest.mark.book

COLAB, BINDER = "https://colab.research.google.com", "https://mybinder.org"
SETTINGS = {
    "html": {"baseurl": "https://ada.github.io/book/"},
    "repository": {"url": "https://github.com/ada/book", "branch": "gh-pages"},
    "launch_buttons": {"colab_url": COLAB, "binderhub_url": BINDER},
}
NOTEBOOK = "_static/self-study/01_attention.ipynb"
OPENS = {  # in the form of Colab's and Binder's documentation
    "Colab": f"https://colab.research.google.com/github/ada/book/blob/gh-pages/{NOTEBOOK}",
    "Binder": f"https://mybinder.org/v2/gh/ada/book/gh-pages?urlpath=lab/tree/{NOTEBOOK}",
}


def with_settings(**changed):
    return {name: {**SETTINGS[name], **changed.get(name, {})} for name in SETTINGS}


def app_of(folder, launch_targets):
    """Return a stand-in for Sphinx with what the buttons need, and a page with exercises."""
    page = SimpleNamespace(chapter="01_attention")
    env = SimpleNamespace(metadata={"chapters/01_attention": {KEY: page}})
    config = SimpleNamespace(launch_targets=launch_targets, html_theme_options={})
    return SimpleNamespace(outdir=folder, srcdir=folder, builder=SimpleNamespace(name="html"), config=config, env=env)


def buttons_of(app, name):
    context = {"header_buttons": []}
    add_buttons(app, name, "page.html", context, None)
    return context["header_buttons"]


@pytest.mark.parametrize(
    "changed, opened",
    [
        ({}, {"Colab", "Binder"}),
        ({"launch_buttons": {"binderhub_url": ""}}, {"Colab"}),
        ({"launch_buttons": {"colab_url": "", "binderhub_url": f"{BINDER}/"}}, {"Binder"}),
        ({"repository": {"url": "https://github.com/ada/book.git/"}}, {"Colab", "Binder"}),
    ],
)
def test_a_button_has_the_address_that_colab_and_binder_expect(changed, opened):
    assert links(targets(with_settings(**changed)), "01_attention") == {name: OPENS[name] for name in opened}


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"html": {"baseurl": ""}}, "html: baseurl: must be the address of the book"),
        ({"html": {"baseurl": "ada.github.io/book"}}, "html: baseurl: must be"),
        ({"repository": {"url": None}}, "repository: url: must be a public one on GitHub"),
        ({"repository": {"url": "https://gitlab.com/ada/book"}}, "repository: url: must be a public one on GitHub"),
        ({"repository": {"url": "https://github.com/ada"}}, "https://github.com/OWNER/REPO"),
        ({"repository": {"branch": None}}, "repository: branch: must be the branch with the built book"),
        ({"repository": {"path_to_book": "docs"}}, "remove path_to_book"),
        ({"launch_buttons": {"thebe": True}}, "only on Colab (colab_url) and on Binder (binderhub_url)"),
        ({"launch_buttons": {"colab_url": "https://colab.example"}}, f"colab_url: must be {COLAB}"),
        ({"launch_buttons": {"binderhub_url": "mybinder.org"}}, "binderhub_url: must be an address"),
    ],
)
def test_a_wrong_setting_is_explained(changed, words):
    with pytest.raises(ConfigError, match=f"^launch_buttons in _config.yml: .*{re.escape(words)}"):
        targets(with_settings(**changed))


def test_a_wrong_setting_stops_the_build(tmp_path):
    write_page(make_little_book(tmp_path))
    config = tmp_path / "_config.yml"
    config.write_text(f"{config.read_text()}\nlaunch_buttons: {{colab_url: '{COLAB}'}}\n")
    built = jupyter_book(tmp_path)
    assert built.returncode
    assert "launch_buttons in _config.yml: html: baseurl: must be" in built.stdout + built.stderr


def test_there_are_no_buttons_by_default(tmp_path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert targets(config) is None
    app = app_of(tmp_path, None)
    assert buttons_of(app, "chapters/01_attention") == []
    publish(app, None)
    assert list(tmp_path.iterdir()) == []


def test_a_page_with_exercises_has_our_buttons_instead_of_the_theme_s(tmp_path):
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(SETTINGS))
    app = app_of(tmp_path, None)
    app.config.html_theme_options = {"launch_buttons": SETTINGS["launch_buttons"], "show_toc_level": 2}
    read_settings(app, app.config)
    assert app.config.html_theme_options == {"show_toc_level": 2}
    (group,) = buttons_of(app, "chapters/01_attention")
    assert {button["text"]: button["url"] for button in group["buttons"]} == OPENS
    assert buttons_of(app, "chapters/guide") == []


# The tests below use the small book of the other tests.


def test_the_built_book_contains_what_the_buttons_open(book, tmp_path):
    together = tmp_path / ALL
    together.parent.mkdir()
    together.write_bytes((book / "_build" / "html" / ALL).read_bytes())
    (tmp_path / "binder").mkdir()
    (tmp_path / "binder" / "environment.yml").touch()  # as an earlier build left it
    publish(app_of(tmp_path, targets(SETTINGS)), None)

    files = unzipped(together)
    assert {path for path in files if (tmp_path / "_static/self-study" / path).read_bytes() != files[path]} == {
        path for path in files if path.endswith(".ipynb")
    }
    assert {file.name for file in (tmp_path / "binder").iterdir()} == {"requirements.txt", "runtime.txt"}
    assert (tmp_path / "binder" / "runtime.txt").read_text() == "python-3.11\n"
    needed = (tmp_path / "binder" / "requirements.txt").read_text()
    assert "numpy==" in needed and "jupyterlab" not in needed

    publish(app_of(tmp_path, None), None)
    assert [file.name for file in tmp_path.iterdir()] == ["_static"]
    assert list(tmp_path.glob("_static/*")) == [together]


def test_a_notebook_alone_downloads_the_files_it_needs(book, site, tmp_path):
    packages, folder = tmp_path / "packages", tmp_path / "content"
    for empty in (packages, folder):
        empty.mkdir()
    for name in ("numpy", "numpy.libs"):  # Colab's folder is as empty, and Colab's Python has more packages
        (packages / name).symlink_to(Path(numpy.__file__).parents[1] / name)
    whole = book / "_build" / "html" / ALL
    blank, digest = unzipped(whole)["01_attention.ipynb"], hashlib.sha256(whole.read_bytes()).hexdigest()
    cells = json.loads(with_download(blank, site, digest))["cells"]
    first = next(index for index, cell in enumerate(cells) if cell["cell_type"] == "code")
    assert cells[:first] + cells[first + 1 :] == json.loads(blank)["cells"]
    fetch, unpack, setup = ("".join(cells[index]["source"]) for index in range(first, first + 3))
    assert "from check import check" in setup

    other = subprocess.run(
        [sys.executable, "-c", fetch.replace(digest, "0" * 64)], cwd=folder, capture_output=True, text=True
    )
    assert "The book has changed since this notebook was made" in other.stderr and not list(folder.iterdir())

    (folder / "02_backward.ipynb").write_text("the reader's own")
    result = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.append({str(packages)!r})\n"
         + "\n".join([fetch, unpack, setup, RIGHT, "check(softmax)"])],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"✓ softmax: all \d+ cases pass.", result.stdout.strip())
    assert (folder / "02_backward.ipynb").read_text() == "the reader's own"
    assert (folder / "01_attention.ipynb").read_bytes() == blank
