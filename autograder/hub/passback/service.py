"""Talk to a platform's Assignment and Grade Services: find or create a column, and send scores.

The requests are those of 1EdTech's specification "LTI Assignment and Grade Services 2.0". The token comes from the
client-credentials grant of the "1EdTech Security Framework 1.0", section 4.1, for which PyJWT signs the assertion.
"""

import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import jwt
import msgspec
import requests
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from autograder.errors import UserError
from autograder.hub.passback.key import key_id
from autograder.hub.passback.platform import Registration
from check.words import quoted, shown

SCOPES = (
    "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem",
    "https://purl.imsglobal.org/spec/lti-ags/scope/score",
)
LINE_ITEM = "application/vnd.ims.lis.v2.lineitem+json"
LINE_ITEMS = "application/vnd.ims.lis.v2.lineitemcontainer+json"
SCORE = "application/vnd.ims.lis.v1.score+json"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
TIMEOUT = (10, 60)  # seconds to connect, and between two parts of an answer
ABOUT_ONE_SCORE = {400, 403, 404, 409, 422}  # answers after which another student's score may still arrive


class Refused(Exception):
    """The platform rejected one student's score; the message quotes its reply."""


class LineItem(msgspec.Struct, rename="camel"):
    """A column of the platform's gradebook. In a column that we created, `resource_id` is the chapter."""

    id: str
    score_maximum: float = 0.0
    resource_id: str | None = None


class GradeService:
    """The columns and scores of one course on a platform.

    Args:
        registration, key: identify this hub to the platform.
        line_items: the address of the course's columns, from a launch.

    Every method raises UserError if the platform cannot be reached or refuses the request.
    """

    def __init__(self, registration: Registration, key: RSAPrivateKey, line_items: str):
        self._line_items = line_items
        self._session = requests.Session()
        self._session.auth = lambda request: request  # otherwise requests sends the passwords of ~/.netrc
        self._session.headers["Authorization"] = f"Bearer {self._token(registration, key)}"

    def line_item(self, chapter: str, points: float) -> LineItem:
        """Return the chapter's column. Create it if the platform has none."""
        for item in self._all_line_items():
            if item.resource_id == chapter:
                return item
        column = {"label": chapter, "resourceId": chapter, "tag": "grade", "scoreMaximum": points}
        answer = self._ask("POST", self._line_items, LINE_ITEM, column)
        return self._decoded(answer, LineItem)

    def send(self, item: LineItem, user: str, score: float, maximum: float) -> None:
        """Set a student's score in a column. The platform scales it if the column has another maximum.

        Raises Refused.
        """
        result = {
            "userId": user,
            "scoreGiven": score,
            "scoreMaximum": maximum,
            "activityProgress": "Completed",
            "gradingProgress": "FullyGraded",
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        parts = urlsplit(item.id)  # the address may end in a query, as Moodle's do
        address = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/scores"))
        self._ask("POST", address, SCORE, result, about_one_score=True)

    def _all_line_items(self) -> Iterator[LineItem]:
        page, seen = self._line_items, set()
        while page and page not in seen:
            seen.add(page)
            answer = self._ask("GET", page, LINE_ITEMS)
            yield from self._decoded(answer, list[LineItem])
            page = answer.links.get("next", {}).get("url", "")

    def _token(self, registration: Registration, key: RSAPrivateKey) -> str:
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": ASSERTION,
            "client_assertion": _assertion(registration, key),
            "scope": " ".join(SCOPES),
        }
        answer = self._request("POST", registration.token_url, data=form)
        if not answer.ok:
            raise UserError(
                f"{registration.token_url} gives this hub no access: it answered {_short(answer)}. Register the key "
                "that `autograder passback --key` prints, and compare `client_id` and `token_url` in lti.toml"
            )
        token = self._decoded(answer, dict[str, Any])
        granted = str(token.get("scope", " ".join(SCOPES))).split()
        if missing := [scope for scope in SCOPES if scope not in granted]:
            raise UserError(
                f"the platform does not allow {' and '.join(missing)}: allow this tool to manage columns and scores "
                "(Moodle: “Use this service for grade sync and column management”)"
            )
        return str(token.get("access_token", ""))

    def _ask(
        self, method: str, url: str, kind: str, body: object = None, *, about_one_score: bool = False
    ) -> requests.Response:
        if _origin(url) != _origin(self._line_items):
            raise UserError(f"the platform names an address on another server, which gets no token: {quoted(url)}")
        headers = {"Content-Type": kind} if body is not None else {"Accept": kind}
        answer = self._request(method, url, headers=headers, data=None if body is None else msgspec.json.encode(body))
        if about_one_score and answer.status_code in ABOUT_ONE_SCORE:
            raise Refused(_short(answer))
        if not 200 <= answer.status_code < 300:
            raise UserError(f"{urlsplit(url).netloc} answered {_short(answer)} to {method} {quoted(url)}")
        return answer

    def _request(self, method: str, url: str, **what: Any) -> requests.Response:
        try:
            return self._session.request(method, url, timeout=TIMEOUT, allow_redirects=False, **what)
        except requests.RequestException as error:
            raise UserError(f"{urlsplit(url).netloc} cannot be reached: {quoted(error)}") from error

    @staticmethod
    def _decoded(answer: requests.Response, kind: Any) -> Any:
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.DecodeError as error:
            raise UserError(f"{urlsplit(answer.url).netloc} sent what the specification does not allow: {error}") from (
                error
            )


def _assertion(registration: Registration, key: RSAPrivateKey) -> str:
    now = int(time.time())
    claims = {
        "iss": registration.client_id,
        "sub": registration.client_id,
        "aud": registration.token_url,
        "iat": now,
        "exp": now + 300,
        "jti": secrets.token_urlsafe(24),  # platforms accept each assertion once
    }
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": key_id(key)})


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _short(answer: requests.Response) -> str:
    """Status and beginning of an answer. It is foreign text, for one line of a terminal."""
    text = " ".join(answer.text[:200].split()) or answer.reason
    return f"{answer.status_code} “{shown(text, 200)}”"
