"""Read the command line, run a subcommand, and turn errors into messages and exit codes."""

import argparse
import errno
import os
import select
import signal
import sys
from pathlib import Path

from autograder.cli import (
    answer,
    assign,
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
    release,
    report,
    requests,
    roster,
    submit_check,
    void,
)
from autograder.errors import UserError
from autograder.hub.cli import COMMANDS as HUB_COMMANDS
from check.words import shown

COMMANDS = {
    "release": release,
    "roster": roster,
    "assign": assign,
    "due": due,
    "extend": extend,
    "collect": collect,
    "submit-check": submit_check,
    "grade": grade,
    "void": void,
    "audit": audit,
    "requests": requests,
    "answer": answer,
    "comments": comments,
    "report": report,
    "history": history,
    "feedback": feedback,
    "export": export,
    "mistakes": mistakes,
    "exercise": exercise,
    "doctor": doctor,
    "certificates": certificates,
    **HUB_COMMANDS,
}
STDOUT = 1
# With these errors the machine refuses to write, which is not a bug.
REFUSED = (errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
FAILED = 2  # the exit code; 1 means that the command worked, and found something to report


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 2, with a message on stderr, for an error that the user can resolve.

    As a shell would, it returns 141 without a message if the reader of its output has left.
    """
    # Submissions are graded in parallel, so several threads for one matrix product would only wait for each other.
    # NumPy reads this variable when a command imports it.
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
