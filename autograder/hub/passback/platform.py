"""Read the hub's registration with its learning platform, and who has opened the hub from the platform."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from autograder.errors import UserError, named_by_user

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class Registration:
    """The registration of the hub with the platform, as a tool of one course."""

    client_id: str
    token_url: str


@dataclass(frozen=True)
class _Tool:
    client_id: str


@dataclass(frozen=True)
class _Platform:
    """The parts of the hub's `lti.toml` that we read; sign-in reads more. `courses` has the hub's names of courses."""

    token_url: str
    courses: dict[str, _Tool]


@dataclass(frozen=True)
class Launch:
    """A person's latest launch, as `hub/deploy/lti_sign_in.py` stores it.

    user: the platform's id of the person. line_items: address of the course's gradebook columns; "" without access.
    at: when the platform issued the launch, in seconds since 1970.
    """

    user: str
    line_items: str
    at: float


def read_registration(hub: Path, course: str) -> Registration:
    """Return the registration of the hub as a tool of this course. Raises UserError."""
    path = hub / "lti.toml"
    if hub.is_dir() and not path.exists():
        raise UserError(
            f"{path} is missing: autograder/hub/deploy/README.md says how to register the hub with a learning platform"
        )
    with named_by_user(path):
        text = path.read_bytes()
    try:
        platform = msgspec.convert(tomllib.loads(text.decode()), _Platform)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be used: {error}") from error
    if course not in platform.courses:
        raise UserError(
            f"{path} has no table [courses.{course}]: compare this name with `c.CourseDirectory.course_id` in the "
            "nbgrader_config.py of the course"
        )
    require_encryption(platform.token_url, f"`token_url` in {path}")
    return Registration(platform.courses[course].client_id, platform.token_url)


def read_launches(hub: Path, course: str) -> Mapping[str, Launch]:
    """Return account -> the person's latest launch from this course. Raises UserError."""
    folder = hub / "launches" / course
    launches = {}
    with named_by_user(folder):
        for path in folder.iterdir():
            if path.suffix != ".json":  # the hub is writing it
                continue
            try:
                launches[path.stem] = msgspec.json.decode(path.read_bytes(), type=Launch)
            except msgspec.DecodeError as error:
                raise UserError(f"{path} is damaged ({error}): delete it; the next launch writes it again") from error
    if not launches:
        raise UserError(f"there is no launch in {folder}: open the hub from your course on the platform once")
    return launches


def line_items_address(launches: Mapping[str, Launch]) -> str:
    """Return the newest address of the course's gradebook columns. Raises UserError if no launch has one."""
    with_access = [launch for launch in launches.values() if launch.line_items]
    if not with_access:
        raise UserError(
            "the platform gives the hub no access to its gradebook: allow Assignment and Grade Services for this tool "
            "(Moodle: “Use this service for grade sync and column management”), and open the hub from the course again"
        )
    address = max(with_access, key=lambda launch: launch.at).line_items
    require_encryption(address, "the address of the platform's gradebook")
    return address


def require_encryption(url: str, name: str) -> None:
    """Raise UserError unless the address is https, or one of this machine."""
    parts = urlsplit(url)
    if not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)):
        raise UserError(f"{name} must begin with https://, but is {url!r}")
