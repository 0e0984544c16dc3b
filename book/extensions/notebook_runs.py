"""Sphinx extension: run the notebooks in parallel before Sphinx reads its pages one by one."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
from myst_nb.core.read import create_nb_reader
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from autograder.authoring.make_key import save_public_keys
from autograder.layout import chapter_names
from check.bundle_data import FOLDER


def prepare_kernels(app: Sphinx, config: Config) -> None:
    """Let kernels import our packages from the checkout, use one thread, and ignore the user's IPython settings.

    With several threads, the rounding of a matrix product varies from run to run, and so does the result of a training.
    The log level suppresses a kernel's warning that it talks to its own machine by TCP.
    """
    profile = Path(app.outdir).parent / ".ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "ERROR"\n')
    os.environ["IPYTHONDIR"] = str(profile.parent)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(app.srcdir), *filter(None, import_path)])


def run_notebooks(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str]) -> None:
    """Make the answer keys of the pages. Run the notebooks that have no cached run, and store their runs for MyST-NB.

    A notebook that fails is not stored. MyST-NB runs it again and reports what failed.
    """
    pages = {path: _notebook(env, path) for path in (Path(env.doc2path(docname)) for docname in docnames)}
    notebooks = {path: notebook for path, notebook in pages.items() if notebook}
    # A page that is not run needs the keys too, for the examples of feedback that it shows.
    tags = {tag for notebook in notebooks.values() for cell in notebook.cells for tag in cell.metadata.get("tags", ())}
    if "check" in tags:
        os.environ[FOLDER] = str(Path(app.outdir).parent / "check_data")
        chapters = [name for name in chapter_names() if f"chapters/{name}" in env.found_docs]
        save_public_keys(Path(os.environ[FOLDER], "keys"), chapters)
    settings = env.mystnb_config  # type: ignore[attr-defined]  # MyST-NB adds the attribute
    if settings.execution_mode != "cache":
        return
    cache = get_cache(settings.execution_cache_path)
    uncached = {path: notebook for path, notebook in notebooks.items() if not _is_cached(cache, notebook)}
    if not uncached:
        return

    def run(path: Path) -> ExecutionResult:
        timeout = settings.execution_timeout
        # nbclient gives a kernel 60 s to start, which is too little on a busy machine.
        return single_nb_execution(
            uncached[path], str(path.parent), timeout, allow_errors=False, startup_timeout=timeout
        )

    latest_first = sorted(uncached, reverse=True)  # the last chapter takes longest
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        results = list(pool.map(run, latest_first))
    for path, result in zip(latest_first, results, strict=True):
        if result.err is None:
            cached = CacheBundleIn(uncached[path], str(path), data={"execution_seconds": result.time})
            cache.cache_notebook_bundle(cached, check_validity=False, overwrite=True)


def _notebook(env: BuildEnvironment, path: Path) -> NotebookNode | None:
    """Return a page as a notebook, or None if it has no cells."""
    text = path.read_text(encoding="utf-8")
    reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)  # type: ignore[attr-defined]
    return reader and reader.read(text)


def _is_cached(cache: JupyterCacheBase, notebook: NotebookNode) -> bool:
    with suppress(KeyError):
        cache.match_cache_notebook(notebook)
        return True
    return False


def setup(app: Sphinx) -> None:
    app.connect("config-inited", prepare_kernels)
    app.connect("env-before-read-docs", run_notebooks)
