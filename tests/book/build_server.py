"""`jupyter-book build` in forks of one process that has imported it all: a little book takes a fraction of a second.

Started as a program, it reads a request a line, {"folder": ..., "options": [...], "environment": {...}}; for each it
forks, builds, and answers {"returncode": ..., "stdout": ..., "stderr": ...}. The fork imports what is ours itself, from
the folder where it is there, as the command does; whatever it does to itself ends with it.
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
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900  # then a build is stopped
# Imported only when a build comes to them.
LATE = (
    *("jupyter_book.cli.main", "sphinx.application", "sphinx.cmd.build", "sphinx.builders.html", "sphinx.environment"),
    *("sphinx.search.en", "sphinx.writers.html5", "pygments.formatters.html", "pygments.lexers.python", "nbclient"),
    *("jupyter_cache.executors.utils", "IPython", "myst_nb.sphinx_ext", "sphinx_design.extension", "lxml.html"),
    "numpy",
)


def forked_build(folder, *options):
    """What `jupyter-book build .` with these options comes to in a folder, as a CompletedProcess."""
    request = {"folder": str(folder), "options": options, "environment": dict(os.environ)}
    server = _server()
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return subprocess.CompletedProcess(options, **json.loads(server.stdout.readline()))


@cache
def _server():
    command = [sys.executable, __file__]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    atexit.register(server.communicate)  # closes its input, at which it ends
    return server


def serve():
    """Answer requests until there are no more."""
    sys.path[0] = ""  # as for `python -c`: the folder that is built, and not this one
    import_everything()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                build(json.loads(line), out, err)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said = [file.seek(0) or file.read().decode("utf-8", "replace") for file in (out, err)]
        print(json.dumps({"returncode": status, "stdout": said[0], "stderr": said[1]}), flush=True)


def import_everything():
    """What Sphinx and the extensions are made of, but nothing of ours, which a book may have in its own folder."""
    import yaml
    from sphinx.application import builtin_extensions

    sphinx = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]
    ours = sphinx["local_extensions"]
    for name in (*LATE, *builtin_extensions, *(each for each in sphinx["config"]["extensions"] if each not in ours)):
        importlib.import_module(name)


def build(request, out, err):
    """Be the command from here on, and end as it ends."""
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
