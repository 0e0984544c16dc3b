"""Configure a hub for one course on one machine.

People log in with their accounts of the machine, or open the hub from their course on a learning platform if there is
an lti.toml. Each student has a server, and the instructors share one formgrader.
Root starts the hub, because the hub starts each server as its owner:

    /srv/hub/env/bin/jupyterhub -f /srv/hub/jupyterhub_config.py

hub.toml, in the same folder, names the groups, accounts and folders.
"""

import grp
import os
import pwd
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = Path(sys.prefix)
SETTINGS = tomllib.loads((HERE / "hub.toml").read_text())
FORMGRADER = SETTINGS["formgrader"]
# The name of the course in the exchange. nbgrader's course list looks for a service with the same name.
COURSE = "default_course"

c = get_config()  # noqa: F821 (traitlets defines it)

# ------------------------------------------------------------------------------------ who may log in
# Accounts of the machine that are in this group, with their passwords (PAM) or with a launch of the platform.
c.LocalAuthenticator.allowed_groups = {SETTINGS["members"]}
if (HERE / "lti.toml").exists():
    PLATFORM = tomllib.loads((HERE / "lti.toml").read_text())
    LAUNCHES = HERE / "launches"
    LAUNCHES.mkdir(mode=0o750, exist_ok=True)
    READER = pwd.getpwnam(FORMGRADER["account"] or "root").pw_gid
    os.chown(LAUNCHES, -1, READER)
    sys.path.insert(0, str(HERE))
    c.JupyterHub.authenticator_class = "lti_sign_in.PlatformAuthenticator"
    c.PlatformAuthenticator.auto_login = True  # instead of a page with a button that leads nowhere
    c.LTI13Authenticator.issuer = PLATFORM["issuer"]
    c.LTI13Authenticator.client_id = {PLATFORM["client_id"]}
    c.LTI13Authenticator.authorize_url = PLATFORM["authorize_url"]
    c.LTI13Authenticator.jwks_endpoint = PLATFORM["keys_url"]
    c.LTI13Authenticator.username_key = PLATFORM["login"]
    c.LTI13LaunchValidator.time_leeway = 10  # seconds by which the clocks of the two machines may differ
    c.PlatformAuthenticator.deployments = set(PLATFORM["deployments"])
    c.PlatformAuthenticator.course = PLATFORM["course"]
    c.PlatformAuthenticator.create_accounts = PLATFORM["create_accounts"]
    c.PlatformAuthenticator.launches = str(LAUNCHES)
    c.PlatformAuthenticator.reader = READER
    c.LocalAuthenticator.add_user_cmd = [
        *("useradd", "--create-home", "--base-dir", PLATFORM["homes"], "--key", "HOME_MODE=0700"),
        *("--shell", "/bin/bash", "--groups", SETTINGS["members"]),
    ]
# The hub reads the instructors' names when it starts.
INSTRUCTORS = {"users": grp.getgrnam(SETTINGS["instructors"]).gr_mem}
c.JupyterHub.load_groups = {"instructors": INSTRUCTORS}

# -------------------------------------------------------------------------------- what they work with
c.Spawner.cmd = [str(ENVIRONMENT / "bin" / "jupyterhub-singleuser")]


def config_path(spawner):
    """Return the folders with a server's settings. All servers and the commands in their terminals share HERE."""
    is_instructor = spawner.user.name in INSTRUCTORS["users"]
    return f"{HERE / ('instructors' if is_instructor else 'students')}:{HERE}"


c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": config_path,
    "PATH": f"{ENVIRONMENT / 'bin'}:/usr/local/bin:/usr/bin:/bin",
}
c.Spawner.default_url = "/lab"

# ------------------------------------------------------------------------------ what instructors share
# The course's own server, which runs as the course's account: formgrader, the gradebook's folder and a terminal. It
# opens in a browser tab of its own, because since JupyterHub 4.1 no page may show another server's page in a frame.
c.JupyterHub.services = [
    {
        "name": COURSE,
        "url": f"http://127.0.0.1:{FORMGRADER['port']}",
        "command": [
            f"{FORMGRADER['environment']}/bin/jupyterhub-singleuser",
            *([] if FORMGRADER["account"] else ["--allow-root"]),  # for the demonstration, if only root can run it
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
# The course list uses the token of a server. A token never allows more than its owner may do.
c.Spawner.server_token_scopes = ["users:activity!user", "access:servers!server", ENTER]

# ---------------------------------------------------------------------------------- where it listens
# nginx, Caddy or Apache handles TLS in front of the hub and forwards the requests to this address.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.ConfigurableHTTPProxy.command = [str(ENVIRONMENT / "node_modules" / ".bin" / "configurable-http-proxy")]

# ---------------------------------------------------------------------------------- what it stores
# Only root can read this folder, with the secret of the cookies and the list of running servers.
STATE = HERE / "state"
STATE.mkdir(mode=0o700, exist_ok=True)
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.JupyterHub.db_url = f"sqlite:///{STATE / 'jupyterhub.sqlite'}"
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")
