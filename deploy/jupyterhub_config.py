"""A hub for one course on one machine: accounts of the machine, one server a student, one formgrader for instructors.

Started by root, since it starts each server as its owner; hub.toml, beside this file, names groups and folders:

    /srv/hub/env/bin/jupyterhub -f /srv/hub/jupyterhub_config.py
"""

import grp
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = Path(sys.prefix)
GIVEN = tomllib.loads((HERE / "hub.toml").read_text())
FORMGRADER = GIVEN["formgrader"]
# The name of the course in the exchange; nbgrader's course list looks for a service that is called like it.
COURSE = "default_course"

c = get_config()  # noqa: F821 (traitlets defines it)

# ------------------------------------------------------------------------------------ who may log in
# Accounts of the machine with their passwords (PAM), if they are in this group of the machine.
c.PAMAuthenticator.allowed_groups = {GIVEN["members"]}
# The others' names are read when the hub starts.
INSTRUCTORS = {"users": grp.getgrnam(GIVEN["instructors"]).gr_mem}
c.JupyterHub.load_groups = {"instructors": INSTRUCTORS}

# -------------------------------------------------------------------------------- what they work with
c.Spawner.cmd = [str(ENVIRONMENT / "bin" / "jupyterhub-singleuser")]


def settings(spawner):
    """Folders with a server's settings: nbgrader_config.py in HERE holds for all, also for what they type."""
    instructs = spawner.user.name in INSTRUCTORS["users"]
    return f"{HERE / ('instructors' if instructs else 'students')}:{HERE}"


c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": settings,
    "PATH": f"{ENVIRONMENT / 'bin'}:/usr/local/bin:/usr/bin:/bin",
}
c.Spawner.default_url = "/lab"

# ------------------------------------------------------------------------------ what instructors share
# The course's own server, as its own account: formgrader, the gradebook's folder and a terminal. Its browser tab is its
# own, too: since JupyterHub 4.1 no page of a server may stand in a frame of another's.
c.JupyterHub.services = [
    {
        "name": COURSE,
        "url": f"http://127.0.0.1:{FORMGRADER['port']}",
        "command": [
            f"{FORMGRADER['environment']}/bin/jupyterhub-singleuser",
            *([] if FORMGRADER["account"] else ["--allow-root"]),  # the demonstration, where no account can run it
        ],
        "user": FORMGRADER["account"],
        "cwd": FORMGRADER["course"],
        "environment": {
            "JUPYTER_CONFIG_PATH": str(HERE / "formgrader"),
            "PATH": f"{FORMGRADER['environment']}/bin:/usr/local/bin:/usr/bin:/bin",
        },
        "oauth_no_confirm": True,
    }
]
ENTER = f"access:services!service={COURSE}"
c.JupyterHub.load_roles = [{"name": "instructor", "groups": ["instructors"], "scopes": [ENTER]}]
# The course list asks with a server's own token; nobody's has more than its owner may.
c.Spawner.server_token_scopes = ["users:activity!user", "access:servers!server", ENTER]

# ---------------------------------------------------------------------------------- where it listens
# TLS ends in front of it: nginx, Caddy or Apache send what arrives at the course's name here.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.ConfigurableHTTPProxy.command = [str(ENVIRONMENT / "node_modules" / ".bin" / "configurable-http-proxy")]

# ---------------------------------------------------------------------------------- what it remembers
# A folder that root alone can read: the cookies' secret, and who has which server.
STATE = HERE / "state"
STATE.mkdir(mode=0o700, exist_ok=True)
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.JupyterHub.db_url = f"sqlite:///{STATE / 'jupyterhub.sqlite'}"
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")
