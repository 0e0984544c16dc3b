"""`autograder certificates`"""

import shlex
from pathlib import Path

WORDS = "Make the certificates with which other machines can help to grade."


def arguments(parser):
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write them; nothing there is overwritten")


def run(options):
    from autograder.grading import certificates

    folder = options.folder.resolve()
    ends = certificates.make(folder)
    print(
        f"""\
{folder} holds a certificate until {ends:%d %B %Y}, and its key.
Copy the folder to the machines that help, by a way that nobody else reads: whoever has the key runs code on the
scheduler and its workers, and reads what they grade. Start both where your course folder is not, or as a user who
cannot read it. HOST is the scheduler's machine, and the folder's place is the one it has there.

The scheduler:
  {certificates.scheduler_command(folder)}
Workers:
  {certificates.worker_command("tls://HOST:8786", folder)}
To grade, here:
  autograder grade CHAPTER --scheduler tls://HOST:8786 --tls {shlex.quote(str(folder))}"""
    )
    return 0
