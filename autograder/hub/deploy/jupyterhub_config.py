"""Configure a hub for one or several courses on one machine.

People log in with their accounts of the machine, or open the hub from their course on a learning platform if there is
an lti.toml. Each person has a server, and the instructors of a course share its formgrader.
Root starts the hub, because the hub starts each server as its owner:

    /srv/hub/env/bin/jupyterhub -f /srv/hub/jupyterhub_config.py

hub.toml, in the same folder, names the courses with their groups, accounts and folders.
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
# Name of each course in the exchange -> its settings. nbgrader looks for a service and for groups with these names.
COURSES = SETTINGS["courses"]

c = get_config()  # noqa: F821 (traitlets defines it)

# ------------------------------------------------------------------------------------ who may log in
# Accounts of the machine that are in this group, with their passwords (PAM) or with a launch of the platform.
c.LocalAuthenticator.allowed_groups = {SETTINGS["members"]}
# The hub's groups have the names that nbgrader looks for.
c.Authenticator.manage_groups = True
c.Authenticator.refresh_pre_spawn = True
c.MachineGroups.machine_groups = {
    f"{kind}-{name}": grp.getgrnam(course[group]).gr_name  # stops the hub here if the machine has no such group
    for name, course in COURSES.items()
    for kind, group in (("formgrade", "instructors"), ("nbgrader", "students"))
}
sys.path.insert(0, str(HERE))
c.JupyterHub.authenticator_class = "machine_groups.PasswordAuthenticator"
if (HERE / "lti.toml").exists():
    PLATFORM = tomllib.loads((HERE / "lti.toml").read_text())
    LAUNCHES = HERE / "launches"
    LAUNCHES.mkdir(mode=0o755, exist_ok=True)
    for name in PLATFORM["courses"]:  # only the course's own account reads the launches of a course
        (LAUNCHES / name).mkdir(mode=0o750, exist_ok=True)
        os.chown(LAUNCHES / name, -1, pwd.getpwnam(COURSES[name]["account"] or "root").pw_gid)
    c.JupyterHub.authenticator_class = "lti_sign_in.PlatformAuthenticator"
    c.PlatformAuthenticator.auto_login = True  # without this, a page has a button that leads nowhere
    c.LTI13Authenticator.issuer = PLATFORM["issuer"]
    c.LTI13Authenticator.client_id = {course["client_id"] for course in PLATFORM["courses"].values()}
    c.LTI13Authenticator.authorize_url = PLATFORM["authorize_url"]
    c.LTI13Authenticator.jwks_endpoint = PLATFORM["keys_url"]
    c.LTI13Authenticator.username_key = PLATFORM["login"]
    c.LTI13LaunchValidator.time_leeway = 10  # seconds by which the clocks of the two machines may differ
    c.PlatformAuthenticator.courses = PLATFORM["courses"]
    c.PlatformAuthenticator.create_accounts = PLATFORM["create_accounts"]
    c.PlatformAuthenticator.launches = str(LAUNCHES)
    c.LocalAuthenticator.add_user_cmd = [
        *("useradd", "--create-home", "--base-dir", PLATFORM["homes"], "--key", "HOME_MODE=0700"),
        *("--shell", "/bin/bash", "--groups", SETTINGS["members"]),
    ]

# -------------------------------------------------------------------------------- what they work with
c.Spawner.cmd = [str(ENVIRONMENT / "bin" / "jupyterhub-singleuser")]


def config_path(spawner):
    """Return the folders with a server's settings. All servers and the commands in their terminals share HERE."""
    grades = any(group.name.startswith("formgrade-") for group in spawner.user.groups)
    return f"{HERE / ('instructors' if grades else 'students')}:{HERE}"


c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": config_path,
    "PATH": f"{ENVIRONMENT / 'bin'}:/usr/local/bin:/usr/bin:/bin",
    "HUB_COURSES": " ".join(COURSES),  # nbgrader_config.py reads these
}
c.Spawner.default_url = "/lab"

# ------------------------------------------------------------------------------ what instructors share
# Each course has a server that runs as the course's account: formgrader, the gradebook's folder and a terminal. It
# opens in a browser tab of its own, because since JupyterHub 4.1 no page may show another server's page in a frame.
c.JupyterHub.services = [
    {
        "name": name,
        "url": f"http://127.0.0.1:{course['port']}",
        "command": [
            f"{course['environment']}/bin/jupyterhub-singleuser",
            *([] if course["account"] else ["--allow-root"]),  # for the demonstration, if only root can run it
        ],
        "user": course["account"],
        "cwd": course["folder"],
        "environment": {
            "JUPYTER_CONFIG_PATH": str(HERE / "formgrader"),
            "PATH": f"{course['environment']}/bin:/usr/local/bin:/usr/bin:/bin",
        },
        "oauth_no_confirm": True,
    }
    for name, course in COURSES.items()
]
ENTER = {name: [f"{may}:services!service={name}" for may in ("access", "list", "read")] for name in COURSES}
c.JupyterHub.load_roles = [
    {"name": f"instructor-{name}", "groups": [f"formgrade-{name}"], "scopes": scopes} for name, scopes in ENTER.items()
]
# Assignment list and course list use the token of a server. A token never allows more than its owner may do.
c.Spawner.server_token_scopes = [
    *("users:activity!user", "access:servers!server", "read:users:name!user", "read:users:groups!user"),
    *(scope for scopes in ENTER.values() for scope in scopes),
]

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
