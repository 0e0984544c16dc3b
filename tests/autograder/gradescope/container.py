"""Lay out Gradescope's folders as its documentation describes them, and run `run_autograder` there.

https://gradescope-autograders.readthedocs.io/en/latest/specs/ (File hierarchy) and /submission_metadata/. The
documentation's repository is github.com/gradescope/autograder_samples; we read its commit af5dee4c.
"""

import errno
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from autograder.gradescope.package import DISTRIBUTIONS
from autograder.sandbox import bubblewrap, interpreter, seccomp

# The rights of root in a container that Docker starts: among them no CAP_SYS_ADMIN.
DOCKERS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP")
SITE_PACKAGES = Path(sysconfig.get_path("purelib")).resolve()
METADATA = {
    "id": 123456,
    "created_at": "2018-07-01T14:22:32.365935-07:00",
    "assignment": {
        "due_date": "2018-06-30T23:00:00.000000-07:00",  # before the submission
        "group_size": None,
        "group_submission": False,
        "id": 25828,
        "course_id": 1234,
        "late_due_date": None,
        "release_date": "2018-06-02T00:00:00.000000-07:00",
        "title": "Programming Assignment 1",
        "total_points": "22.0",
    },
    "submission_method": "upload",
    "users": [{"email": "student@example.com", "id": 1234, "name": "Student User"}],
    "previous_submissions": [],
}


def open_to_all():
    """Return a Python of this version that other users can run, or None."""
    paths = [str(interpreter.executable()), shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin")]
    return next((path for path in paths if path and all(map(_is_open, Path(path).resolve().parents))), None)


def _is_open(folder):
    return bool(folder.stat().st_mode & stat.S_IXOTH)


class Container:
    """The folder /autograder. python: a Python for its environment, which has what requirements.txt lists."""

    def __init__(self, folder, package, python=sys.executable):
        self.folder = folder
        for name in ("submission", "results"):
            (folder / name).mkdir(parents=True)
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder / "source")
        shutil.copy(folder / "source" / "run_autograder", folder)
        (folder / "run_autograder").chmod(0o755)
        (folder / "submission_metadata.json").write_text(json.dumps(METADATA))
        subprocess.run([python, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        packages = next((folder / "venv/lib").glob("python3.*")) / "site-packages"
        for installed in interpreter.with_requirements(DISTRIBUTIONS):
            for name in {file.parts[0] for file in installed.files} - {"..", "__pycache__"}:
                (packages / name).symlink_to(installed.locate_file(name))

    def hand_in(self, files):
        """Replace the submission. files: name -> content."""
        shutil.rmtree(self.folder / "submission")
        for name, content in files.items():
            path = self.folder / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def run(self):
        """Run `run_autograder` on this machine, and return what it wrote to results.json and what it printed."""
        return self._run([])

    def run_in_docker(self, rights=DOCKERS):
        """Do the same in a container with the rights that Docker gives to root, and without namespaces."""
        with os.fdopen(os.memfd_create("filter"), "r+b") as file:
            file.write(without_namespaces())
            file.seek(0)
            # bwrap would make the folders above a bound one for root alone.
            above = [str(folder) for bound in (self.folder, SITE_PACKAGES) for folder in reversed(bound.parents)]
            options = [
                *("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"),
                *("--perms", "1777", "--tmpfs", "/tmp", "--perms", "0700", "--tmpfs", "/root"),
                *(word for folder in above for word in ("--dir", folder)),
                *("--ro-bind", SITE_PACKAGES, SITE_PACKAGES, "--bind", self.folder, self.folder),
                *(
                    "--unshare-pid",
                    "--unshare-net",
                    "--unshare-ipc",
                    "--seccomp",
                    str(file.fileno()),
                    "--cap-drop",
                    "ALL",
                ),
                *(word for name in rights for word in ("--cap-add", f"CAP_{name}")),
            ]
            return self._run([bubblewrap.find(), *options], pass_fds=[file.fileno()])

    def _run(self, command, **options):
        environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        command = [*command, self.folder / "run_autograder"]
        ran = subprocess.run(command, cwd=self.folder, env=environment, **streams, **options)
        return json.loads((self.folder / "results" / "results.json").read_text()), ran.stdout


def without_namespaces():
    """Return a filter of system calls that allows no user namespaces, as Docker's does for root without SYS_ADMIN."""
    new_user = 0x10000000
    refuse = [seccomp._load(0), (seccomp._ANY_BIT, 0, 1, new_user), seccomp._return(seccomp._failing(errno.EPERM))]
    numbers = {"x86_64": (56, 272), "aarch64": (220, 97)}[platform.machine()]  # of clone and unshare
    rules = [rule for number in numbers for rule in seccomp._when(number, [*refuse, seccomp._return(seccomp._ALLOW)])]
    rules += seccomp._when(435, [seccomp._return(seccomp._failing(errno.ENOSYS))])  # clone3
    return seccomp._bytes([*seccomp._beginning(platform.machine()), *rules, seccomp._return(seccomp._ALLOW)])
