"""Sphinx extension: buttons that open a chapter's exercises on Colab or Binder, if `_config.yml` asks for them.

The theme's buttons would lead to a page's source, which has no gaps to fill in and is beside the solutions. So we
take Jupyter Book's settings away from the theme and make the buttons here. They lead to the self-study notebooks,
unzipped into the built book, which you publish as a branch of a repository. Binder copies the whole branch and finds in
`binder/` what to install. Colab opens one notebook, whose first cell downloads the rest from the book's address. The
buttons are plain links, so no page loads anything from another machine.

Sources for the form of the addresses: Colab's notebook on GitHub (googlecolab/colabtools,
notebooks/colab-github-demo.ipynb), BinderHub's parser (jupyterhub/binderhub,
js/packages/binderhub-client/lib/spec.js), and repo2docker's documentation for the content of `binder/`
(docs/source/configuration). Of published files, Colab opens only those on GitHub (googlecolab/colabtools, issue 1305).
"""

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from autograder.release import bundle
from book.live.built_files import ALL
from book.live.page_data import live_pages
from book.live.self_study import unzipped

COLAB = "https://colab.research.google.com"
FOLDER = "_static/self-study"
ENVIRONMENT = "binder"  # the folder in which repo2docker looks first
PYTHON = "python-3.11\n"  # repo2docker's default is older than the requirements allow
BUTTONS = {"colab_url", "binderhub_url"}
DOWNLOAD = """\
# Downloads the files that belong beside this notebook from the book's address. It replaces no file.
# Colab keeps what you write if you save a copy in Drive. Binder keeps nothing: download the notebook before you leave.
# Later chapters use your functions from earlier ones: upload the notebooks of those chapters beside this one.
import hashlib
import io
import urllib.request
import zipfile
from pathlib import Path

if not Path("check").exists():
    with urllib.request.urlopen({address!r}) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != {digest!r}:
        raise RuntimeError("The book has changed since this notebook was made. Open the chapter from the book again.")
    files = zipfile.ZipFile(io.BytesIO(content))
    files.extractall(members=[name for name in files.namelist() if not Path(name).exists()])
"""


def targets(config: dict[str, Any]) -> dict[str, str] | None:
    """Return where the buttons lead, from the content of `_config.yml`; None if there is no button.

    "home" is the book's address, "repository" OWNER/REPO, and "colab" and "binder" are the addresses of the services
    that get a button. Raises ConfigError if a setting that a button needs is missing or wrong.
    """
    wanted = {name: str(value).rstrip("/") for name, value in (config.get("launch_buttons") or {}).items() if value}
    if not wanted:
        return None
    repository = config.get("repository") or {}
    home, branch = config["html"].get("baseurl") or "", str(repository.get("branch") or "")
    on_github = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?", str(repository.get("url")))
    colab, binder = wanted.get("colab_url"), wanted.get("binderhub_url")
    for wrong, words in (
        (wanted.keys() - BUTTONS, "the exercises open only on Colab (colab_url) and on Binder (binderhub_url)"),
        (not re.match(r"https?://\w", home), "html: baseurl: must be the address of the book, https://…"),
        (not on_github, "repository: url: must be a public one on GitHub, https://github.com/OWNER/REPO"),
        (not re.fullmatch(r"[\w.-]+", branch), "repository: branch: must be the branch with the built book"),
        (repository.get("path_to_book"), "repository: remove path_to_book, because the branch holds only the book"),
        (colab not in (None, COLAB), f"colab_url: must be {COLAB}"),
        (
            binder and not re.match(r"https://\w", binder),
            "binderhub_url: must be an address such as https://mybinder.org",
        ),
    ):
        if wrong:
            raise ConfigError(f"launch_buttons in _config.yml: {words}")
    assert on_github
    services = {"colab": colab, "binder": binder}
    return {
        "home": home.rstrip("/"),
        "repository": on_github[1],
        "branch": branch,
        **{name: address for name, address in services.items() if address},
    }


def links(targets: dict[str, str], chapter: str) -> dict[str, str]:
    """Return the label and address of each button of a chapter, such as "01_attention"."""
    path = f"{FOLDER}/{chapter}.ipynb"
    repository, branch = targets["repository"], targets["branch"]
    buttons = {}
    if "colab" in targets:
        buttons["Colab"] = f"{targets['colab']}/github/{repository}/blob/{branch}/{path}"
    if "binder" in targets:
        buttons["Binder"] = f"{targets['binder']}/v2/gh/{repository}/{branch}?urlpath=lab/tree/{path}"
    return buttons


def with_download(notebook: bytes, home: str, digest: str) -> bytes:
    """Return a notebook whose first code cell downloads what belongs beside it from the book's address.

    digest: the SHA-256 of the file with all chapters. The cell unpacks no other file.
    """
    read = nbformat.reads(notebook.decode(), as_version=4)
    first = next(place for place, cell in enumerate(read.cells) if cell.cell_type == "code")
    source = DOWNLOAD.format(address=f"{home}/{ALL}", digest=digest).rstrip("\n")
    read.cells.insert(first, nbformat.v4.new_code_cell(source, id="elsewhere"))
    return f"{nbformat.writes(read)}\n".encode()


def published_files(whole: Path, home: str) -> dict[str, bytes]:
    """Return path in the built book -> content of what the buttons need, from the file with all chapters."""
    files, digest = unzipped(whole), hashlib.sha256(whole.read_bytes()).hexdigest()
    notebooks = {path for path in files if path.endswith(".ipynb")}
    needed = [line for line in files["requirements.txt"].decode().splitlines() if not line.startswith("jupyterlab")]
    return {
        **{f"{FOLDER}/{path}": content for path, content in files.items() if path not in notebooks},
        **{f"{FOLDER}/{path}": with_download(files[path], home, digest) for path in notebooks},
        f"{ENVIRONMENT}/requirements.txt": "\n".join([*needed, ""]).encode(),  # Binder has a JupyterLab of its own
        f"{ENVIRONMENT}/runtime.txt": PYTHON.encode(),
    }


# ------------------------------------------------------------------------------------------------ Sphinx


def read_settings(app: Sphinx, config: Config) -> None:
    """Take the settings away from the theme, whose buttons would lead to the page's source."""
    file = Path(app.srcdir, "_config.yml")
    config.launch_targets = targets(yaml.safe_load(file.read_text(encoding="utf-8")))
    config.html_theme_options.pop("launch_buttons", None)


def add_buttons(app: Sphinx, docname: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Give a page with exercises its buttons."""
    page = live_pages(app.env).get(docname)
    if not page or not app.config.launch_targets or app.builder.name != "html":
        return
    buttons = [
        {"type": "link", "text": name, "url": address}
        for name, address in links(app.config.launch_targets, page.chapter).items()
    ]
    look = {"icon": "fa-solid fa-rocket", "tooltip": "Open the exercises elsewhere", "label": "launch-buttons"}
    context["header_buttons"].append({"type": "group", "buttons": buttons, **look})


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Put what the buttons lead to into the built book, and delete the files of an earlier build."""
    if exception or app.builder.name != "html":
        return
    for folder in (FOLDER, ENVIRONMENT):
        shutil.rmtree(Path(app.outdir, folder), ignore_errors=True)
    if app.config.launch_targets and live_pages(app.env):
        files = published_files(Path(app.outdir, ALL), app.config.launch_targets["home"])
        bundle.write(files, Path(app.outdir))


def setup(app: Sphinx) -> None:
    app.add_config_value("launch_targets", None, "html")  # a change makes Sphinx write all pages again
    app.connect("config-inited", read_settings)
    app.connect("html-page-context", add_buttons, priority=502)  # the theme adds its buttons at 501
    app.connect("build-finished", publish)
