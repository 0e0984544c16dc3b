"""Sphinx extension: buttons that open a chapter's exercises on Colab or Binder; off until _config.yml asks for them.

The theme's buttons would lead to a page's source, which has nothing to fill in and lies beside the solutions. So what
Jupyter Book's settings ask for is taken from the theme and made here. The buttons lead to the notebooks that anybody
may have, unzipped into the built book, which is to be published as a branch of a repository. Binder brings all of that
branch, and finds in `binder/` what to install. Colab opens a notebook alone, which fetches the rest from the book's
address. The buttons are plain links: no page asks another machine for anything.

The form of these addresses was read in Colab's own notebook on GitHub (googlecolab/colabtools,
notebooks/colab-github-demo.ipynb) and in BinderHub's reader of them (jupyterhub/binderhub,
js/packages/binderhub-client/lib/spec.js); what `binder/` may hold, in repo2docker's documentation
(docs/source/configuration). Of published files, Colab opens GitHub's alone (googlecolab/colabtools, issue 1305).
"""

import re
import shutil
from pathlib import Path

import nbformat
import yaml
from sphinx.errors import ConfigError

from book.live.built_files import ALL
from book.live.self_study import unzipped

COLAB = "https://colab.research.google.com"
FOLDER = "_static/self-study"
ENVIRONMENT = "binder"  # where repo2docker looks first
PYTHON = "python-3.11\n"  # repo2docker's own is older than what the requirements ask for
BUTTONS = {"colab_url", "binderhub_url"}
FETCH = """\
# Brings what belongs beside this notebook, from the book's address, where it is not there yet; it replaces no file.
# Colab keeps what you write if you save a copy in Drive. Binder keeps nothing: download the notebook before you leave.
# A later chapter uses your functions of the earlier ones: upload your notebooks of those beside this one.
import io
import urllib.request
import zipfile
from pathlib import Path

if not Path("check").exists():
    with urllib.request.urlopen({address!r}) as answer:
        files = zipfile.ZipFile(io.BytesIO(answer.read()))
    files.extractall(members=[name for name in files.namelist() if not Path(name).exists()])
"""


def places(config):
    """Where the buttons lead, from what is written in _config.yml.

    Args:
        config: dict, the content of that file.

    Returns:
        dict of "home", the book's address; "repository", "OWNER/REPO"; "branch"; "colab" and "binder", addresses, each
        there if it is to have a button. None if no button is asked for.

    Raises:
        ConfigError: something that a button needs is missing, or leads nowhere.
    """
    asked = {name: str(value).rstrip("/") for name, value in (config.get("launch_buttons") or {}).items() if value}
    if not asked:
        return None
    repository = config.get("repository") or {}
    home, branch = config["html"].get("baseurl") or "", str(repository.get("branch") or "")
    found = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?", str(repository.get("url")))
    colab, binder = asked.get("colab_url"), asked.get("binderhub_url")
    for wrong, words in (
        (asked.keys() - BUTTONS, "the exercises open on Colab (colab_url) and on Binder (binderhub_url), nowhere else"),
        (not re.match(r"https?://\w", home), "html: baseurl: has to be the address of the book, https://…"),
        (not found, "repository: url: has to be a public one on GitHub, https://github.com/OWNER/REPO"),
        (
            not re.fullmatch(r"[\w.-]+", branch),
            "repository: branch: has to be the one that holds the built book",
        ),
        (
            repository.get("path_to_book"),
            "repository: path_to_book: has to go; the built book is the root of the branch",
        ),
        (colab not in (None, COLAB), f"colab_url: has to be {COLAB}"),
        (
            binder and not re.match(r"https://\w", binder),
            "binderhub_url: has to be an address, as https://mybinder.org is",
        ),
    ):
        if wrong:
            raise ConfigError(f"launch_buttons in _config.yml: {words}")
    both = {"colab": colab, "binder": binder}
    return {
        "home": home.rstrip("/"),
        "repository": found[1],
        "branch": branch,
        **{name: address for name, address in both.items() if address},
    }


def links(places, chapter):
    """Name -> address of what opens the exercises of a chapter ("01_attention")."""
    path = f"{FOLDER}/{chapter}.ipynb"
    repository, branch = places["repository"], places["branch"]
    found = {}
    if "colab" in places:
        found["Colab"] = f"{places['colab']}/github/{repository}/blob/{branch}/{path}"
    if "binder" in places:
        found["Binder"] = f"{places['binder']}/v2/gh/{repository}/{branch}?urlpath=lab/tree/{path}"
    return found


def that_fetches(notebook, home):
    """A notebook, as bytes, that brings what belongs beside it from the book's address before it runs anything."""
    read = nbformat.reads(notebook.decode(), as_version=4)
    first = next(place for place, cell in enumerate(read.cells) if cell.cell_type == "code")
    source = FETCH.format(address=f"{home}/{ALL}").rstrip("\n")
    read.cells.insert(first, nbformat.v4.new_code_cell(source, id="elsewhere"))
    return f"{nbformat.writes(read)}\n".encode()


def published(files, home):
    """Path in the built book -> content of what the buttons need, from the files of all chapters' notebooks."""
    notebooks = {path for path in files if path.endswith(".ipynb")}
    needed = [line for line in files["requirements.txt"].decode().splitlines() if not line.startswith("jupyterlab")]
    return {
        **{f"{FOLDER}/{path}": content for path, content in files.items() if path not in notebooks},
        **{f"{FOLDER}/{path}": that_fetches(files[path], home) for path in notebooks},
        f"{ENVIRONMENT}/requirements.txt": "\n".join([*needed, ""]).encode(),  # Binder brings a JupyterLab of its own
        f"{ENVIRONMENT}/runtime.txt": PYTHON.encode(),
    }


# ------------------------------------------------------------------------------------------------ Sphinx


def read_settings(app, config):
    """Take the settings from the theme, whose buttons would lead elsewhere."""
    file = Path(app.srcdir, "_config.yml")
    config.launching = places(yaml.safe_load(file.read_text(encoding="utf-8")))
    config.html_theme_options.pop("launch_buttons", None)


def add_buttons(app, pagename, templatename, context, doctree):
    """Give a page with exercises its buttons."""
    page = getattr(app.env, "live_pages", {}).get(pagename)
    if not page or not app.config.launching or app.builder.name != "html":
        return
    buttons = [
        {"type": "link", "text": name, "url": address}
        for name, address in links(app.config.launching, page["chapter"]).items()
    ]
    said = {"icon": "fa-solid fa-rocket", "tooltip": "Open the exercises elsewhere", "label": "launch-buttons"}
    context["header_buttons"].append({"type": "group", "buttons": buttons, **said})


def publish(app, exception):
    """Put into the built book what the buttons lead to, or take away what an earlier build put there."""
    if exception or app.builder.name != "html":
        return
    for folder in (FOLDER, ENVIRONMENT):
        shutil.rmtree(Path(app.outdir, folder), ignore_errors=True)
    if app.config.launching and getattr(app.env, "live_pages", {}):
        for path, content in published(unzipped(Path(app.outdir, ALL)), app.config.launching["home"]).items():
            file = Path(app.outdir, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def setup(app):
    app.add_config_value("launching", None, "html")  # what changes it writes the pages anew
    app.connect("config-inited", read_settings)
    app.connect("html-page-context", add_buttons, priority=502)  # the theme's are at 501
    app.connect("build-finished", publish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
