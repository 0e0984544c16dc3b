"""A small learning platform on 127.0.0.1, which follows LTI 1.3 and Assignment and Grade Services 2.0.

It has two courses with the same members. Each course has a tool that they can open, and a gradebook that the tool may
fill. The platform checks what the specifications ask it to check, and answers everything else with an error.
"""

import html
import json
import secrets
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

DEPLOYMENT, COURSE, OTHER = "1", "7", "8"
CLIENTS = {COURSE: "hub-10000", OTHER: "hub-10001"}  # course -> the client id of its tool
LTI, AGS = "https://purl.imsglobal.org/spec/lti/claim", "https://purl.imsglobal.org/spec/lti-ags"
MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"
LEARNER, INSTRUCTOR = f"{MEMBERSHIP}#Learner", f"{MEMBERSHIP}#Instructor"
SCOPES = {f"{AGS}/scope/lineitem", f"{AGS}/scope/score"}
ACTIVITY = {"Initialized", "Started", "InProgress", "Submitted", "Completed"}
GRADING = {"FullyGraded", "Pending", "PendingManual", "Failed", "NotReady"}


class Refusal(Exception):
    """An answer that reports no success: its status and the reason."""


class Course:
    """A course of the platform.

    Attributes:
        client: the client id of the course's tool. tool_key: the public key that this tool has registered.
        line_items: the address of the columns of the course's gradebook.
        items: these columns. scores: (column, user id) -> the latest score.
    """

    def __init__(self, address, number):
        self.id, self.client = number, CLIENTS[number]
        self.line_items = f"{address}/courses/{number}/lineitems?type_id=1"
        self.tool_key, self.items, self.scores = None, [], {}

    def add_item(self, item):
        if not item.get("label") or not item.get("scoreMaximum", 0) > 0:
            raise Refusal(400, "a column needs a label, and a maximum above 0")
        number = len(self.items) + 1
        self.items.append(item | {"id": self.line_items.replace("?", f"/{number}/lineitem?")})
        return self.items[-1]


class Platform:
    """The platform's state. Tests read it and change it.

    Attributes:
        address: of its server.
        courses: id -> Course. course: the first one.
        people: user id -> the login that the platform sends.
        tool: the address at which people sign in to the tools. redirects: where the platform may send people.
        page: how many columns it lists at a time. grants: the scopes that it grants.
        claims: name -> value that replaces a claim of a launch, for broken launches; None removes the claim.
        signing_key: signs launches. A test can replace it by a key that the hub does not know.
    """

    def __init__(self, address):
        self.address = address
        self.courses = {number: Course(address, number) for number in CLIENTS}
        self.course = self.courses[COURSE]
        self.people = {}
        self.tool, self.redirects = "", set()
        self.page, self.grants = 2, SCOPES
        self.claims = {}
        self.key = self.signing_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.requests = []
        self._tokens, self._assertions = {}, set()

    # ------------------------------------------------------------------------------------- signing in
    def keys(self):
        return {"keys": [jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True) | {"kid": "p1"}]}

    def initiation(self, user, course):
        """Return the address that a member's browser opens first: the tool's, with what the platform tells it."""
        hint = {"iss": self.address, "login_hint": user, "lti_message_hint": course.id, "client_id": course.client}
        hint["lti_deployment_id"] = DEPLOYMENT
        home = self.tool.split("/lti13")[0] + "/home"  # a page for which the hub starts no server
        return f"{self.tool}?{urlencode(hint | {'target_link_uri': home})}"

    def authorized(self, query):
        """Return where the answer to an authentication request goes, and its fields."""
        course = self.courses[query["lti_message_hint"]]
        fixed = {"response_type": "id_token", "scope": "openid", "response_mode": "form_post", "prompt": "none"}
        for name, value in (fixed | {"client_id": course.client}).items():
            if query.get(name) != value:
                raise Refusal(400, f"{name} must be {value}")
        if query.get("redirect_uri") not in self.redirects or not query.get("nonce") or not query.get("state"):
            raise Refusal(400, "redirect_uri is not registered, or nonce or state are missing")
        if query.get("login_hint") not in self.people:
            raise Refusal(400, "this member has not been sent to the tool")
        return query["redirect_uri"], {
            "state": query["state"], "id_token": self.id_token(query["login_hint"], query["nonce"], course)
        }  # fmt: skip

    def id_token(self, user, nonce, course):
        now = int(time.time())
        claims = {
            "iss": self.address, "aud": course.client, "sub": user, "nonce": nonce, "iat": now, "exp": now + 300,
            f"{LTI}/version": "1.3.0", f"{LTI}/message_type": "LtiResourceLinkRequest",
            f"{LTI}/deployment_id": DEPLOYMENT, f"{LTI}/target_link_uri": self.tool,
            f"{LTI}/resource_link": {"id": "4"}, f"{LTI}/roles": [LEARNER],
            f"{LTI}/context": {"id": course.id, "label": "TBH", "title": "The Transformer by hand"},
            f"{LTI}/custom": {"login": self.people[user]},
            f"{AGS}/claim/endpoint": {"scope": sorted(SCOPES), "lineitems": course.line_items},
        } | self.claims  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, self.signing_key, algorithm="RS256", headers={"kid": "p1"})

    # ------------------------------------------------------------------------------------ the gradebook
    def token(self, form):
        """Return an access token for a signed assertion, as the Security Framework 1.0 asks in section 4.1."""
        kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        if form.get("grant_type") != "client_credentials" or form.get("client_assertion_type") != kind:
            raise Refusal(400, "unsupported_grant_type")
        try:
            assertion = form.get("client_assertion", "")
            client = jwt.decode(assertion, options={"verify_signature": False})["iss"]
            course = next(course for course in self.courses.values() if course.client == client)
            if not course.tool_key:
                raise Refusal(400, "invalid_client: it has registered no key")
            claims = jwt.decode(
                assertion, course.tool_key, algorithms=["RS256"], issuer=client,
                audience=f"{self.address}/token", options={"require": ["iss", "sub", "aud", "iat", "exp", "jti"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            raise Refusal(400, f"invalid_client: {error}") from error
        if claims["sub"] != client or claims["jti"] in self._assertions:
            raise Refusal(400, "invalid_client: wrong sub, or an assertion that was used before")
        self._assertions.add(claims["jti"])
        granted = self.grants & set(form.get("scope", "").split())
        if not granted:
            raise Refusal(400, "invalid_scope")
        token = secrets.token_urlsafe()
        self._tokens[token] = {(course.id, scope) for scope in granted}
        return {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": " ".join(sorted(granted))}

    def require(self, headers, course, scope, kind):
        """Refuse a request without a token for this scope in this course, or with another media type."""
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        if (course, f"{AGS}/scope/{scope}") not in self._tokens.get(token, ()):
            raise Refusal(401, "no token for this scope")
        if f"application/vnd.ims.lis.{kind}+json" not in (headers.get("Content-Type"), headers.get("Accept")):
            raise Refusal(415, "wrong media type")

    def add_score(self, course, number, score):
        user, at = score.get("userId"), score.get("timestamp", "")
        if user not in self.people:
            raise Refusal(404, "this user is no member of the course")
        given, maximum = score.get("scoreGiven"), score.get("scoreMaximum")
        if score.get("activityProgress") not in ACTIVITY or score.get("gradingProgress") not in GRADING:
            raise Refusal(400, "wrong progress")
        if not isinstance(given, int | float) or given < 0 or not maximum > 0:
            raise Refusal(400, "wrong score")
        if datetime.fromisoformat(at).tzinfo is None or "." not in at:
            raise Refusal(400, "the timestamp needs a time zone and fractions of seconds")
        known = course.scores.get((number, user))
        if known and datetime.fromisoformat(known["timestamp"]) >= datetime.fromisoformat(at):
            raise Refusal(409, "a later score is known")
        course.scores[number, user] = score


class Handler(BaseHTTPRequestHandler):
    """Answer one request. The server has the platform."""

    def do_GET(self):
        self._answer(self._get)

    def do_POST(self):
        self._answer(self._post)

    def _get(self, path, query, _):
        platform = self.server.platform
        match path:
            case ["keys"]:
                return 200, platform.keys()
            case ["launch"]:
                return 302, platform.initiation(query["user"], platform.courses[query["course"]])
            case ["authorize"]:
                return 200, form_post(*platform.authorized(query))
            case ["courses", number, "lineitems"] if course := platform.courses.get(number):
                platform.require(self.headers, number, "lineitem", "v2.lineitemcontainer")
                start = int(query.get("from", 0))
                end = start + platform.page
                if end < len(course.items):
                    self.link = f'<{course.line_items}&from={end}>; rel="next"'
                return 200, course.items[start:end]
        raise Refusal(404, "no such page")

    def _post(self, path, _, body):
        platform = self.server.platform
        match path:
            case ["token"]:
                return 200, platform.token(dict(parse_qsl(body)))
            case ["courses", number, "lineitems"] if course := platform.courses.get(number):
                platform.require(self.headers, number, "lineitem", "v2.lineitem")
                return 201, course.add_item(json.loads(body))
            case ["courses", number, "lineitems", item, "lineitem", "scores"] if course := platform.courses.get(number):
                platform.require(self.headers, number, "score", "v1.score")
                platform.add_score(course, int(item), json.loads(body))
                return 200, {}
        raise Refusal(404, "no such page")

    def _answer(self, method):
        self.link = ""
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.platform.requests.append((self.command, self.path))
        try:
            status, content = method(parts.path.strip("/").split("/"), dict(parse_qsl(parts.query)), body)
        except Refusal as refusal:
            status, content = refusal.args
        self.send_response(status)
        if status == 302:
            self.send_header("Location", content)
        text = content if isinstance(content, str) else json.dumps(content)
        self.send_header("Content-Type", "text/html" if isinstance(content, str) else "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        if self.link:
            self.send_header("Link", self.link)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        """Write no log."""


def form_post(address, fields):
    """Return a page that sends a form at once, as OAuth 2.0 Form Post Response Mode specifies."""
    inputs = "".join(f'<input type="hidden" name="{name}" value="{html.escape(fields[name])}">' for name in fields)
    return f'<body onload="document.forms[0].submit()"><form method="post" action="{address}">{inputs}</form></body>'


@contextmanager
def learning_platform():
    """Run a platform, and yield its state."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.platform = Platform(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.platform
        finally:
            server.shutdown()
            thread.join()
