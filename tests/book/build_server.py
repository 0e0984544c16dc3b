"""Run `jupyter-book build` in forks of one process that has imported Sphinx, in a fraction of a second.

As a program, this file reads one request a line, {"folder": ..., "options": [...], "environment": {...}}. For each
request it forks, and the fork builds. The answer is {"returncode": ..., "stdout": ..., "stderr": ...}. The fork imports
our own modules itself, as the command does: from the book's folder, if they are there. Its imports end with it.
"""

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from functools import cache, partial
from pathlib import Path

from jinja2 import FileSystemBytecodeCache

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900  # after this time a build is stopped
# Modules that Sphinx imports only during a build.
LATE = (
    *("jupyter_book.cli.main", "sphinx.application", "sphinx.cmd.build", "sphinx.builders.html", "sphinx.environment"),
    *("sphinx.search.en", "sphinx.writers.html5", "pygments.formatters.html", "pygments.lexers.python", "nbclient"),
    *("jupyter_cache.executors.utils", "IPython", "myst_nb.sphinx_ext", "sphinx_design.extension", "lxml.html"),
    *(
        "numpy",
        "nbgrader.apps",
        "jupytext",
        "num2words",
        "rapidfuzz",
        "pybtex.plugin",
        "nbconvert.exporters",
        "ipykernel",
    ),
)


def forked_build(folder, *options):
    """Run `jupyter-book build .` with these options in a folder. Return a CompletedProcess."""
    request = {"folder": str(folder), "options": options, "environment": dict(os.environ)}
    server = _server()
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return subprocess.CompletedProcess(options, **json.loads(server.stdout.readline()))


@cache
def _server():
    command = [sys.executable, __file__]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    atexit.register(server.communicate)  # this closes the server's input, and the server ends
    return server


def serve():
    """Import everything, then answer requests."""
    sys.path[0] = ""  # like `python -c`, import from the current folder and not from the folder of this file
    import_everything()
    with tempfile.TemporaryDirectory() as templates:
        compile_templates_once(templates)
        answer_requests()


def answer_requests():
    """Answer requests until the input ends."""
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                build(json.loads(line), out, err)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            stdout, stderr = (file.seek(0) or file.read().decode("utf-8", "replace") for file in (out, err))
        print(json.dumps({"returncode": status, "stdout": stdout, "stderr": stderr}), flush=True)


def import_everything():
    """Import Sphinx and its extensions, except our own, because a book may have other versions in its folder."""
    import yaml
    from sphinx.application import builtin_extensions

    sphinx = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]
    ours = sphinx["local_extensions"]
    for name in (*LATE, *builtin_extensions, *(name for name in sphinx["config"]["extensions"] if name not in ours)):
        importlib.import_module(name)


def compile_templates_once(folder):
    """Let all builds share the compiled templates of the theme, which take a third of a little book's build."""
    from sphinx import jinja2glue

    shared = FileSystemBytecodeCache(folder)
    jinja2glue.SandboxedEnvironment = partial(jinja2glue.SandboxedEnvironment, bytecode_cache=shared)


def build(request, out, err):
    """Run the command in this process, and exit with its status."""
    signal.alarm(SECONDS)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), out.fileno(), err.fileno())):
        os.dup2(file, number)
    sys.argv = ["jupyter-book", "build", ".", *request["options"]]
    status = 1
    try:
        importlib.import_module("jupyter_book.cli.main").main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
