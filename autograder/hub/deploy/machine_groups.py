"""Sign people in with accounts of this machine, whose groups say who is a student or an instructor of which course.

The hub reads the groups when a person signs in, before a server starts, and every five minutes while the person works.
"""

import grp

from jupyterhub.auth import LocalAuthenticator, PAMAuthenticator
from traitlets import Dict


class MachineGroups(LocalAuthenticator):
    """Mirror the machine's groups in the hub."""

    machine_groups = Dict(config=True, help="group of the hub -> group of the machine")

    async def run_post_auth_hook(self, handler, auth_model):
        auth_model = await super().run_post_auth_hook(handler, auth_model)
        return auth_model | {"groups": self._groups(auth_model["name"])}

    async def refresh_user(self, user, handler=None):
        return {"name": user.name, "groups": self._groups(user.name)}

    def _groups(self, account):
        return [group for group, machines in self.machine_groups.items() if account in grp.getgrnam(machines).gr_mem]


class PasswordAuthenticator(MachineGroups, PAMAuthenticator):
    """Ask for the account's password."""
