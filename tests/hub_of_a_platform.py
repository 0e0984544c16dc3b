"""Run a hub that people enter from a platform until stdin has a line: python -m tests.hub_of_a_platform HUB PLATFORM

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

from deploy.machine import accounts, free_ports, hub
from tests.learning_platform import CLIENT, COURSE, DEPLOYMENT

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
MEMBERS, INSTRUCTORS = "transformer-members", "transformer-graders"
PEOPLE = {"ada": [MEMBERS], "ines": [MEMBERS, INSTRUCTORS], "course": []}


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
    """Write the hub's configuration, with an idle web server in place of formgrader."""
    for name in ("jupyterhub_config.py", "lti_sign_in.py", "nbgrader_config.py"):
        shutil.copy(DEPLOY / name, folder)
    port = free_ports(1)[0]
    idle = folder / "idle" / "bin" / "jupyterhub-singleuser"
    idle.parent.mkdir(parents=True)
    idle.write_text(f"#!/bin/sh\nexec /usr/bin/python3 -m http.server --bind 127.0.0.1 {port}\n")
    idle.chmod(0o755)
    (folder / "hub.toml").write_text(f"""
        members = "{MEMBERS}{suffix}"
        instructors = "{INSTRUCTORS}{suffix}"
        [formgrader]
        account = "course{suffix}"
        course = "{idle.parent}"
        environment = "{idle.parent.parent}"
        port = {port}
        """)
    (folder / "lti.toml").write_text(f"""
        issuer = "{platform}"
        client_id = "{CLIENT}"
        deployments = ["{DEPLOYMENT}"]
        authorize_url = "{platform}/authorize"
        keys_url = "{platform}/keys"
        token_url = "{platform}/token"
        course = "{COURSE}"
        login = "custom_login"
        create_accounts = true
        homes = "{folder}"
        """)


def created(suffix: str) -> list[str]:
    """Return the accounts that the hub has created."""
    given = {name + suffix for name in PEOPLE}
    return [entry.pw_name for entry in pwd.getpwall() if entry.pw_name.endswith(suffix) and entry.pw_name not in given]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
