"""Run a hub that people enter from a platform until stdin has a line.

    python -m tests.autograder.hub.hub_of_a_platform HUB PLATFORM

HUB is the folder of `make hub`, PLATFORM the address of a `learning_platform`. Prints where the hub is as JSON.
"""

import json
import pwd
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from autograder.hub.deploy import machine
from autograder.hub.deploy.machine import accounts, free_ports, hub
from tests.autograder.hub.learning_platform import CLIENTS, COURSE, DEPLOYMENT, OTHER

DEPLOY = Path(machine.__file__).parent
MEMBERS = "transformer-members"
STUDENTS, INSTRUCTORS = "transformer-students", "transformer-graders"
OTHER_STUDENTS, OTHER_INSTRUCTORS = "other-students", "other-graders"
PEOPLE = {
    "ada": [MEMBERS, STUDENTS],
    "ines": [MEMBERS, INSTRUCTORS],
    "iris": [MEMBERS, INSTRUCTORS],
    "zoe": [MEMBERS, OTHER_STUDENTS],
    "ivo": [MEMBERS, OTHER_INSTRUCTORS],
    "course": [],
    "other": [],
}


def main(environment: Path, platform: str) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hub-")))
        folder.chmod(0o755)
        suffix, _ = stack.enter_context(accounts(PEOPLE, folder))
        stack.callback(remove, suffix)
        configure(folder, platform, suffix)
        address = stack.enter_context(hub(environment, folder))
        print(json.dumps({"folder": str(folder), "address": address, "suffix": suffix}), flush=True)
        sys.stdin.readline()


def remove(suffix: str) -> None:
    """Remove the accounts that the hub has created. None of them has a process."""
    for account in created(suffix):
        subprocess.run(["userdel", account], check=True)


def configure(folder: Path, platform: str, suffix: str) -> None:
    """Write the configuration of a hub with two courses, with idle web servers instead of formgrader."""
    for name in ("jupyterhub_config.py", "lti_sign_in.py", "machine_groups.py", "nbgrader_config.py"):
        shutil.copy(DEPLOY / name, folder)
    hub_toml = [f'members = "{MEMBERS}{suffix}"']
    lti_toml = [
        f"""
        issuer = "{platform}"
        authorize_url = "{platform}/authorize"
        keys_url = "{platform}/keys"
        token_url = "{platform}/token"
        login = "custom_login"
        create_accounts = true
        homes = "{folder}"
        """
    ]
    courses = {
        "default_course": ("course", STUDENTS, INSTRUCTORS, COURSE),
        "other_course": ("other", OTHER_STUDENTS, OTHER_INSTRUCTORS, OTHER),
    }
    for (name, (account, students, instructors, number)), port in zip(courses.items(), free_ports(2), strict=True):
        idle = folder / "idle" / name / "bin" / "jupyterhub-singleuser"
        idle.parent.mkdir(parents=True)
        idle.write_text(f"#!/bin/sh\nexec /usr/bin/python3 -m http.server --bind 127.0.0.1 {port}\n")
        idle.chmod(0o755)
        hub_toml.append(f"""
        [courses.{name}]
        students = "{students}{suffix}"
        instructors = "{instructors}{suffix}"
        account = "{account}{suffix}"
        folder = "{idle.parent}"
        environment = "{idle.parent.parent}"
        port = {port}
        """)
        lti_toml.append(f"""
        [courses.{name}]
        client_id = "{CLIENTS[number]}"
        deployments = ["{DEPLOYMENT}"]
        course = "{number}"
        """)
    (folder / "hub.toml").write_text("\n".join(hub_toml))
    (folder / "lti.toml").write_text("\n".join(lti_toml))


def created(suffix: str) -> list[str]:
    """Return the accounts that the hub has created."""
    given = {name + suffix for name in PEOPLE}
    return [entry.pw_name for entry in pwd.getpwall() if entry.pw_name.endswith(suffix) and entry.pw_name not in given]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
