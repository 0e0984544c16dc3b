"""The `autograder` command. Each subcommand is a file beside this one."""

import argparse
import errno
import os
import select
import signal
import sys
from pathlib import Path

from autograder.cli import (
    answer,
    audit,
    certificates,
    collect,
    comments,
    doctor,
    due,
    exercise,
    export,
    extend,
    feedback,
    grade,
    history,
    mistakes,
    passback,
    release,
    report,
    requests,
    roster,
    submit_check,
    void,
    watch,
)
from autograder.errors import UserError
from check.words import shown

COMMANDS = {
    "release": release,
    "roster": roster,
    "due": due,
    "extend": extend,
    "collect": collect,
    "submit-check": submit_check,
    "grade": grade,
    "watch": watch,
    "void": void,
    "audit": audit,
    "requests": requests,
    "answer": answer,
    "comments": comments,
    "report": report,
    "history": history,
    "feedback": feedback,
    "export": export,
    "passback": passback,
    "mistakes": mistakes,
    "exercise": exercise,
    "doctor": doctor,
    "certificates": certificates,
}
STDOUT = 1
REFUSED = (errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT)  # the machine, and no bug, refuses to write
FAILED = 2  # the exit code; 1 means that the command worked, and found something to report


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 2, with a message on stderr, for an error that the user can resolve.

    As a shell would, it returns 141 without a message if the reader of its output has left.
    """
    # Submissions are graded side by side, so more threads for one product of matrices only wait for each other. NumPy
    # reads this when a command imports it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    options = _parser().parse_args(arguments)
    options.course = options.course.resolve()
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        if not _reader_left():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)  # Python flushes once more when it exits
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return _fail("interrupted; finished work is kept, and the same command continues from there")
    except UserError as error:
        return _fail(str(error))
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        # shutil names the file that it copies, and then the one that it could not write.
        name = error.filename2 or error.filename
        where = f"{name}: " if name else ""
        return _fail(f"{where}{error.strerror}: resolve this, and the same command continues from what is finished")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autograder", description="Release and grade the chapters of the course.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        command.add_argument("--course", type=Path, default=Path("course"), metavar="DIR", help="default: course")
        command.set_defaults(run=module.run)
        module.add_arguments(command)
    return parser


def _reader_left() -> bool:
    """Return whether the output goes into a pipe that its reader has closed, as `head` does after its last line."""
    poll = select.poll()
    poll.register(STDOUT, 0)  # report only errors
    return bool(poll.poll(0))


def _fail(message: str) -> int:
    lines = (shown(line, 2000) for line in message.split("\n"))
    print("autograder:", "\n".join(lines), file=sys.stderr)
    return FAILED
