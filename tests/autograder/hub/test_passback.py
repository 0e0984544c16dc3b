"""Scores sent back to a learning platform: once each, to the right students, and with nothing lost on the way."""

import json
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from nbgrader.api import Gradebook

from autograder.cli.main import FAILED, main
from autograder.gradebook.coursedir import open_coursedir

pytest.importorskip("jwt", reason="NO PYJWT: scores sent over LTI were not tested. Install it with `make formgrader`.")

from autograder.hub.passback import service
from autograder.hub.passback.key import make_key
from tests.autograder.hub import learning_platform
from tests.autograder.hub.learning_platform import AGS, CLIENTS, COURSE, OTHER
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """Return a gradebook with one chapter of 25 points in two exercises, and with no students."""
    folder = tmp_path_factory.mktemp("gradebook")
    directory = open_coursedir(folder, CHAPTER)
    with Gradebook(directory.db_url, directory.course_id) as book:
        book.add_assignment(CHAPTER)
        book.add_notebook(CHAPTER, CHAPTER)
        for cell, points in (("check-softmax", 5), ("check-attention", 20)):
            book.add_grade_cell(cell, CHAPTER, CHAPTER, max_score=points, cell_type="code")
    return folder / "gradebook.db"


@pytest.fixture
def course(gradebook, tmp_path):
    """Return a course that has nothing but this gradebook."""
    (tmp_path / "course").mkdir()
    shutil.copy(gradebook, tmp_path / "course")
    return tmp_path / "course"


@pytest.fixture
def platform(course):
    """Return a platform that knows the course's key, and whose members are ada, ben and cleo."""
    with learning_platform.learning_platform() as platform:
        platform.people = {"11": "ada", "12": "ben", "13": "cleo"}
        platform.course.tool_key = make_key(course).public_key()
        yield platform


@pytest.fixture
def hub(platform, tmp_path):
    """Return the folder of a hub that ada and ben have opened from the platform, and cleo has not."""
    folder = tmp_path / "hub"
    (folder / "launches" / "default_course").mkdir(parents=True)
    register(folder, f"{platform.address}/token")
    for user, account in (("11", "ada"), ("12", "ben")):
        launch(folder, account, user=user, line_items=platform.course.line_items, at=float(user))
    return folder


def register(hub, token_url):
    (hub / "lti.toml").write_text(f"""
        token_url = "{token_url}"
        [courses.default_course]
        client_id = "{CLIENTS[COURSE]}"
        [courses.other_course]
        client_id = "{CLIENTS[OTHER]}"
        """)


def launch(hub, account, course="default_course", **fields):
    (hub / "launches" / course / f"{account}.json").write_text(json.dumps(fields))


@pytest.fixture
def scores(course):
    """Return set_scores(student=points), which grades students of the course."""

    def set_scores(**points):
        directory = open_coursedir(course, CHAPTER)
        with Gradebook(directory.db_url) as book:
            for student, score in points.items():
                if student not in {known.id for known in book.students}:
                    book.add_student(student)
                    book.add_submission(CHAPTER, student)
                grades = book.find_submission(CHAPTER, student).notebooks[0].grades
                for grade in grades:
                    grade.auto_score = 0.0
                grades[0].manual_score = score
            book.db.commit()

    return set_scores


@pytest.fixture
def passback(course, hub, capsys):
    """Return passback(options), which runs the command and returns its exit code and its output."""

    def run(*options):
        code = main(["passback", CHAPTER, "--course", str(course), "--hub", str(hub), *options])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


def received(course):
    """Return (column, user) -> (score, maximum)."""
    return {
        (course.items[number - 1]["resourceId"], user): (score["scoreGiven"], score["scoreMaximum"])
        for (number, user), score in course.scores.items()
    }


def test_scores_arrive_in_a_column_that_the_command_creates(platform, scores, passback):
    scores(ada=25, ben=12.5)
    code, printed = passback()
    assert code == 0 and "2 scores sent, 0 sent before" in printed
    assert received(platform.course) == {(CHAPTER, "11"): (25, 25), (CHAPTER, "12"): (12.5, 25)}
    assert [item["label"] for item in platform.course.items] == [CHAPTER]


def rename(course, name):
    (course / "nbgrader_config.py").write_text(f"get_config().CourseDirectory.course_id = {name!r}\n")


def test_another_course_of_the_hub_sends_to_its_own_gradebook(platform, course, hub, scores, passback):
    """Ada is in both courses of the platform, and has opened the hub from both."""
    other = platform.courses[OTHER]
    (hub / "launches" / "other_course").mkdir()
    launch(hub, "ada", "other_course", user="11", line_items=other.line_items, at=99.0)
    scores(ada=25, ben=12.5)
    passback()
    assert received(platform.course) == {(CHAPTER, "11"): (25, 25), (CHAPTER, "12"): (12.5, 25)} and other.items == []
    rename(course, "other_course")
    code, printed = passback()
    assert code == FAILED and "gives this hub no access" in printed  # the key of the first course
    other.tool_key, platform.course.tool_key = platform.course.tool_key, None
    code, printed = passback()
    assert code == 1 and received(other) == {(CHAPTER, "11"): (25, 25)}
    assert "has never opened the hub from the platform: ben" in printed


def test_only_changed_scores_are_sent_again(platform, scores, passback):
    scores(ada=25, ben=12.5)
    passback()
    scores(ben=13)
    platform.requests.clear()
    _, printed = passback()
    assert "1 score sent, 1 sent before" in printed and received(platform.course)[CHAPTER, "12"] == (13, 25)
    assert sum(path.endswith("scores?type_id=1") for _, path in platform.requests) == 1
    _, printed = passback("--again")
    assert "2 scores sent, 0 sent before" in printed and len(platform.course.items) == 1


def test_the_column_is_found_on_a_later_page_and_keeps_its_maximum(platform, scores, passback):
    for chapter in ("02_backward", "03_masking", "04_multihead"):
        platform.course.add_item({"label": chapter, "resourceId": chapter, "scoreMaximum": 9})
    platform.course.add_item({"label": "renamed by the teacher", "resourceId": CHAPTER, "scoreMaximum": 100})
    scores(ada=25)
    _, printed = passback()
    assert len(platform.course.items) == 4 and received(platform.course) == {(CHAPTER, "11"): (25, 25)}
    assert "maximum of 100, and the chapter 25 points: the platform scales the scores" in printed


def test_students_whom_the_platform_does_not_know_cost_the_others_nothing(platform, scores, passback):
    scores(ada=25, ben=12.5, cleo=3)
    del platform.people["11"]
    code, printed = passback()
    assert code == 1 and received(platform.course) == {(CHAPTER, "12"): (12.5, 25)}
    assert "refuses the score of ada: 404" in printed and "this user is no member of the course" in printed
    assert "has never opened the hub from the platform: cleo" in printed
    platform.people["11"] = "ada"
    assert "1 score sent, 1 sent before" in passback()[1]


def test_ungraded_and_withdrawn_students_get_no_score(course, platform, scores, passback):
    scores(ada=25, ben=12.5)
    with Gradebook(open_coursedir(course, CHAPTER).db_url) as book:
        book.find_submission(CHAPTER, "ada").notebooks[0].grades[1].auto_score = None
        book.db.commit()
    (course / "roster.json").write_text(json.dumps({"ids": "", "identifiers": {}, "withdrawn": ["ben"]}))
    assert "0 scores sent" in passback()[1] and platform.course.scores == {}


def test_a_dry_run_sends_nothing(platform, scores, passback):
    scores(ada=25)
    code, printed = passback("--dry-run")
    assert code == 0 and "would send ada 25 of 25" in printed and "1 score would be sent" in printed
    assert platform.requests == []
    passback()
    assert "0 scores would be sent, 1 sent before" in passback("--dry-run")[1]


def test_an_interrupted_run_continues(platform, scores, passback, monkeypatch):
    scores(ada=25, ben=12.5)
    send, users = service.GradeService.send, []

    def interrupted(self, item, user, *score):
        users.append(user)
        if len(users) == 2:
            raise KeyboardInterrupt
        send(self, item, user, *score)

    monkeypatch.setattr(service.GradeService, "send", interrupted)
    assert passback()[0] == FAILED and len(platform.course.scores) == 1
    assert "1 score sent, 1 sent before" in passback()[1]
    assert users == ["11", "12", "12"] and len(platform.course.scores) == 2


def test_another_key_gets_no_access(platform, scores, passback):
    scores(ada=25)
    platform.course.tool_key = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    code, printed = passback()
    assert code == FAILED and "gives this hub no access" in printed and "autograder passback --key" in printed
    assert platform.course.scores == {} and platform.course.items == []


def test_every_request_for_a_token_is_a_new_one(platform, scores, passback, monkeypatch):
    """The platform of the tests refuses an assertion that it has seen. A copy gets nothing."""
    scores(ada=25)
    made = []
    sign = service._assertion
    monkeypatch.setattr(service, "_assertion", lambda *given: made.append(sign(*given)) or made[-1])
    passback()
    assert passback()[0] == 0
    monkeypatch.setattr(service, "_assertion", lambda *_: made[0])
    code, printed = passback("--again")
    assert code == FAILED and "an assertion that was used before" in printed


def test_a_platform_that_allows_no_columns_is_named(platform, scores, passback):
    scores(ada=25)
    platform.grants = {f"{AGS}/scope/score"}
    code, printed = passback()
    assert code == FAILED and "does not allow" in printed and "grade sync and column management" in printed


def test_the_token_goes_to_no_other_server(platform, hub, scores, passback):
    scores(ada=25)
    other, seen = listener()
    platform.course.items.append({"label": "x", "resourceId": CHAPTER, "scoreMaximum": 25, "id": f"{other}/lineitem"})
    code, printed = passback()
    assert code == FAILED and "another server, which gets no token" in printed and seen == []
    platform.course.items.clear()
    launch(
        hub, "ada", user="11", line_items=f"{other}/lineitems", at=99.0
    )  # the other server redirects to the platform
    code, printed = passback()
    assert code == FAILED and "302" in printed
    assert [path for path, _ in seen] == ["/lineitems"]


def listener():
    """Return the address of a server that redirects every request, and a list of its requests."""
    seen = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}", seen


def test_passwords_of_netrc_are_not_sent(platform, scores, passback, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ada password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    scores(ada=25)
    assert passback()[0] == 0  # basic credentials instead of the token would get 401


@pytest.mark.parametrize(
    "address, why",
    [
        ("http://platform.example.org/token", "must begin with https://"),
        ("http://127.0.0.1:1/token", "cannot be reached"),
    ],
)
def test_an_unusable_address_stops_the_command(platform, hub, scores, passback, address, why):
    scores(ada=25)
    register(hub, address)
    code, printed = passback()
    assert code == FAILED and why in printed and "Traceback" not in printed


def test_launches_without_access_to_the_gradebook_are_named(platform, hub, scores, passback):
    scores(ada=25)
    for account in ("ada", "ben"):
        launch(hub, account, user="11", line_items="", at=1.0)
    code, printed = passback()
    assert code == FAILED and "gives the hub no access to its gradebook" in printed


def test_the_key_is_for_its_owner_alone(course, platform, scores, passback):
    scores(ada=25)
    path = course / "lti_key.pem"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    code, printed = passback()
    assert code == FAILED and "its mode is 640" in printed and "chmod 600" in printed and platform.requests == []


def test_the_printed_key_is_the_public_half_and_stays_the_same(course, capsys):
    os.umask(os.umask(0))  # whatever it is, the file's mode is 600
    command = ["passback", "--key", "--course", str(course)]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert main(command) == 0 and capsys.readouterr().out == first
    pem = first[first.index("-----BEGIN") : first.index("Canvas")]
    jwk = json.loads(first[first.index("{") :])
    assert "PRIVATE" not in first and "d" not in jwk
    expected = make_key(course).public_key().public_numbers()
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    assert load_pem_public_key(pem.encode()).public_numbers() == expected
    assert learning_platform.jwt.PyJWK(jwk).key.public_numbers() == expected


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda course, hub: (hub / "lti.toml").unlink(), "lti.toml is missing"),
        (lambda course, hub: (hub / "lti.toml").write_text("token_url = 3"), "lti.toml cannot be used"),
        (lambda course, hub: rename(course, "a_third"), "lti.toml has no table [courses.a_third]"),
        (lambda course, hub: (hub / "launches/default_course/ada.json").write_text("{"), "ada.json is damaged"),
        (lambda course, hub: [path.unlink() for path in (hub / "launches").rglob("*.json")], "there is no launch in"),
        (lambda course, hub: (course / "passback.json").write_text("["), "passback.json is damaged"),
        (lambda course, hub: (course / "lti_key.pem").write_text("no key"), "is not a private key"),
        (lambda course, hub: (course / "lti_key.pem").unlink(), "--key` makes it"),
    ],
)
def test_what_is_missing_or_damaged_is_named(course, platform, hub, scores, passback, change, why):
    scores(ada=25)
    change(course, hub)
    code, printed = passback()
    assert code == FAILED and why in printed and "Traceback" not in printed and platform.course.scores == {}


def test_a_chapter_that_the_gradebook_does_not_know(course, hub, scores, capsys):
    scores(ada=25)
    assert main(["passback", "02_backward", "--course", str(course), "--hub", str(hub)]) == FAILED
    assert "no scores of 02_backward" in capsys.readouterr().err
