"""A hub for one course on one machine: accounts of the machine, one server a student, nbgrader's exchange.

Started by root, since it starts each student's server as that student:

    /srv/hub/env/bin/jupyterhub -f /srv/hub/jupyterhub_config.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = Path(sys.prefix)

c = get_config()  # noqa: F821 (traitlets defines it)

# ------------------------------------------------------------------------------------ who may log in
# Accounts of the machine with their passwords (PAM), if they are in this group of the machine.
c.PAMAuthenticator.allowed_groups = {"transformer"}

# -------------------------------------------------------------------------------- what they work with
c.Spawner.cmd = [str(ENVIRONMENT / "bin" / "jupyterhub-singleuser")]
# nbgrader_config.py and jupyter_server_config.py beside this file hold for every student's server, and for what
# they type in its terminal.
c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": str(HERE),
    "PATH": f"{ENVIRONMENT / 'bin'}:/usr/local/bin:/usr/bin:/bin",
}
c.Spawner.default_url = "/lab"

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
