"""Sign people in with LTI 1.3: they open the hub from their course on a learning platform.

ltiauthenticator checks a launch: its signature, its age, its state and its nonce. This file decides which
launches to accept, which account and which course a person gets, and what to keep for `autograder passback`.
"""

import grp
import json
import os
import re
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import jwt
from ltiauthenticator.lti13.auth import LTI13Authenticator
from ltiauthenticator.lti13.error import IncorrectValueError, InvalidAudienceError, TokenError
from ltiauthenticator.lti13.handlers import LTI13CallbackHandler, LTI13LoginInitHandler
from ltiauthenticator.lti13.validator import LTI13LaunchValidator
from machine_groups import MachineGroups
from tornado.web import HTTPError
from traitlets import Bool, Dict, Unicode

LTI = "https://purl.imsglobal.org/spec/lti/claim"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
ACCOUNT = re.compile(r"[a-z][a-z0-9_.-]{0,31}")
TEACHES = re.compile(r"http://purl\.imsglobal\.org/vocab/lis/v2/membership(#|/)Instructor\b")
# The code below relies on these types. A request with a claim of another type is not a launch.
TYPES = {
    "sub": str,
    "azp": str,
    f"{LTI}/deployment_id": str,
    **{f"{LTI}/{name}": dict for name in ("context", "custom", "resource_link")},
    f"{LTI}/roles": list,
    GRADES: dict,
}
KEYS_SECONDS = 60  # the hub asks the platform for its keys at most once in this time because of an unknown key


class SignInHandler(LTI13LoginInitHandler):
    """Begin a launch, or tell visitors without one where to start."""

    def post(self):
        if not self.get_argument("iss", ""):
            raise HTTPError(403, f"Open this hub from your course on {self.authenticator.issuer}.")
        super().post()

    get = post

    def _set_cookie(self, key, value, **options):
        # The platform answers with a form from another site, and browsers send with it only cookies marked like this.
        super()._set_cookie(key, value, **options, samesite="None", secure=True)


class LaunchHandler(LTI13CallbackHandler):
    """Check a launch as ltiauthenticator does, but keep the platform's keys, and refuse claims of a wrong type."""

    def decode_and_validate_launch_request(self):
        validator, platform = LTI13LaunchValidator(parent=self.app), self.authenticator
        sent = {name: self.get_argument(name, "") for name in ("id_token", "state")}
        validator.validate_auth_response(sent)
        self.check_state()
        try:
            key = platform.keys.get_signing_key_from_jwt(sent["id_token"])
            launch = jwt.decode(
                sent["id_token"],
                key,
                algorithms=platform.jwks_algorithms,
                audience=platform.client_id,
                issuer=platform.issuer,
                leeway=validator.time_leeway,
            )
        except jwt.InvalidAudienceError as error:
            raise InvalidAudienceError(str(error)) from error
        except jwt.PyJWTError as error:
            raise TokenError(str(error)) from error
        launch = {claim: value for claim, value in launch.items() if value is not None}
        for claim, kind in TYPES.items():
            if not isinstance(launch.get(claim, kind()), kind):
                raise IncorrectValueError(f"Incorrect type of the claim {claim}")
        validator.validate_id_token(launch)
        validator.validate_azp_claim(launch, platform.client_id)
        self.check_nonce(launch)
        return launch


class PlatformAuthenticator(LTI13Authenticator, MachineGroups):
    """Give each member of a course on the platform an account of this machine, and make it a student of the course."""

    login_handler = SignInHandler
    callback_handler = LaunchHandler

    courses = Dict(config=True, help="course of the hub -> its `client_id`, `deployments` and `course` on the platform")
    create_accounts = Bool(config=True, help="create missing accounts, and put them into the course's group")
    launches = Unicode(config=True, help="folder that keeps each person's latest launch in each course")
    _nonces = Dict()  # nonce -> when its launch is too old to be accepted

    def __init__(self, **options):
        super().__init__(**options)
        self._began = int(time.time())
        self.keys = jwt.PyJWKClient(self.jwks_endpoint, cooldown_duration=KEYS_SECONDS)

    async def authenticate(self, handler, data=None):
        """Return the account of a valid launch. Raises HTTPError, with a sentence for the person, for any other."""
        self._use_once(data["nonce"], data["iat"], data["exp"])
        course = self._course(data)
        account = self._account(data)
        self._require_same_person(account, data)
        self._require_teacher(account, data)
        self._create_if_missing(account)
        if not self.check_allowed_groups(account):
            raise HTTPError(403, f"The account {account} of this machine may not enter. Ask your instructor.")
        self._join(account, course)
        self._keep(account, course, data)
        return {"name": account}

    def _use_once(self, nonce, issued, expires):
        """Refuse a launch that was used before. ltiauthenticator compares the nonce with the browser's cookie only.

        A launch from before the hub's start may have been used, too: the hub has forgotten which ones were.
        """
        now = time.time()
        self._nonces = {known: end for known, end in self._nonces.items() if end > now}
        if nonce in self._nonces or issued < self._began:
            raise HTTPError(400, "This launch was used before. Open the hub from your course again.")
        self._nonces[nonce] = expires + 60

    def _course(self, data):
        """The hub's name of the course from which the person comes."""
        tools = data["aud"] if isinstance(data["aud"], list) else [data["aud"]]
        if "azp" in data:  # the one tool, of all in `aud`, to which the platform gave this launch
            tools = {data["azp"]}.intersection(tools)
        deployment, context = data[f"{LTI}/deployment_id"], data.get(f"{LTI}/context") or {}
        for name, known in self.courses.items():
            if (
                context.get("id") == known["course"]
                and known["client_id"] in tools
                and deployment in known["deployments"]
            ):
                return name
        self.log.warning("launch of the tools %r, deployment %r, from the course %r", tools, deployment, context)
        raise HTTPError(403, "This hub belongs to another course. Its log has the ids of yours.")

    def _account(self, data):
        """The account's name: the login that the platform sends."""
        if not data.get("sub"):  # LTI allows anonymous launches
            raise HTTPError(403, "The platform does not say who you are. Ask your instructor.")
        claims = data.get(f"{LTI}/custom") or {} if self.username_key.startswith("custom_") else data
        login = claims.get(self.username_key.removeprefix("custom_"))
        account = login.lower() if isinstance(login, str) and login.isascii() else ""
        if not ACCOUNT.fullmatch(account):
            self.log.warning("%s of a launch is %r, which cannot be the name of an account", self.username_key, login)
            raise HTTPError(403, "The platform sends no login that can be the name of an account. Ask your instructor.")
        return account

    def _require_same_person(self, account, data):
        """Refuse a login that once belonged to another person on the platform, who may have given it up."""
        files = (self._file(account, course) for course in self.courses)
        if any(file.exists() and json.loads(file.read_text())["user"] != data["sub"] for file in files):
            raise HTTPError(
                403, f"The account {account} belongs to another person on the platform. Ask your instructor."
            )

    def _require_teacher(self, account, data):
        """Give the account of an instructor, until its first launch binds it to a person, only to a teacher."""
        teams = (machine for group, machine in self.machine_groups.items() if group.startswith("formgrade-"))
        if not any(account in grp.getgrnam(team).gr_mem for team in teams):
            return
        bound = any(self._file(account, course).exists() for course in self.courses)
        if not bound and not any(TEACHES.match(str(role)) for role in data.get(f"{LTI}/roles", [])):
            raise HTTPError(403, f"The account {account} belongs to an instructor. Open the hub as a teacher first.")

    def _create_if_missing(self, account):
        user = SimpleNamespace(name=account)
        if self.system_user_exists(user):
            return
        if not self.create_accounts:
            raise HTTPError(403, f"There is no account {account} on this machine yet. Ask your instructor.")
        self.add_system_user(user)

    def _join(self, account, course):
        """Enrol the account as a student of the course, unless it is already a student or an instructor."""
        students, instructors = (self.machine_groups[f"{kind}-{course}"] for kind in ("nbgrader", "formgrade"))
        if any(account in grp.getgrnam(group).gr_mem for group in (students, instructors)):
            return
        if not self.create_accounts:
            raise HTTPError(403, f"The account {account} is not in the group of your course. Ask your instructor.")
        subprocess.run(["usermod", "--append", "--groups", students, account], check=True)

    def _keep(self, account, course, data):
        launch = {"user": data["sub"], "line_items": (data.get(GRADES) or {}).get("lineitems", ""), "at": data["iat"]}
        file = self._file(account, course)
        part = file.with_suffix(".part")
        part.touch(mode=0o640)
        os.chown(part, -1, file.parent.stat().st_gid)
        part.write_text(json.dumps(launch))
        part.replace(file)

    def _file(self, account, course):
        return Path(self.launches, course, f"{account}.json")
