"""`autograder certificates`"""

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "Make the certificates that other machines need to help with grading."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder; existing files are not overwritten")


def run(options: Namespace) -> int:
    from autograder.grading import certificates

    folder = options.folder.resolve()
    ends = certificates.make(folder)
    print(
        f"""\
{folder} now holds a certificate, valid until {ends:%d %B %Y}, and its key.
Copy the folder to the machines that help, over a private channel: anyone with the key can run code on the scheduler and
its workers, and can read what they grade. Start both on a machine without your course folder, or as a user who cannot
read it. HOST is the scheduler's machine. Use the folder's path on the machine you are on.

The scheduler:
  {certificates.scheduler_command(folder)}
Workers:
  {certificates.worker_command("tls://HOST:8786", folder)}
To grade, on this machine:
  autograder grade CHAPTER --scheduler tls://HOST:8786 --tls {shlex.quote(str(folder))}"""
    )
    return 0
