"""People sign in to a hub from a learning platform with LTI 1.3, and their scores go back to it."""

import copy
import grp
import html
import json
import os
import pwd
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

pytest.importorskip("jwt", reason="NO PYJWT: signing in to a hub was not tested. Set it up with `make hub formgrader`.")

from autograder.hub.deploy.machine import try_as
from autograder.hub.passback.platform import read_launches
from tests.autograder.hub import learning_platform
from tests.autograder.hub.hub_of_a_platform import created
from tests.autograder.hub.learning_platform import AGS, CLIENTS, COURSE, INSTRUCTOR, LTI, OTHER
from tests.patience import SECONDS

ROOT = Path(__file__).resolve().parents[3]
HUB = ROOT / ".hub"

pytestmark = [pytest.mark.hub, pytest.mark.thorough("sets up and tests a JupyterHub")]


@pytest.fixture(scope="module")
def signed_in():
    """Yield a hub that people enter from a platform: folder, address, the platform, the suffix of all accounts.

    `before` is a time before the hub started.
    """
    if os.geteuid():
        pytest.skip("NOT ROOT: signing in to a hub was not tested, because that creates accounts.")
    if not (HUB / ".done").exists():
        pytest.skip("NO HUB: signing in was not tested. Set it up with `make hub formgrader`, which needs npm.")
    with learning_platform.learning_platform() as platform:
        before = int(time.time()) - 1
        # A separate process starts the hub, and ends all of the hub's processes.
        command = [sys.executable, "-m", "tests.autograder.hub.hub_of_a_platform", HUB, platform.address]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            line = process.stdout.readline()
            assert line, "the hub did not start"
            running = json.loads(line)
            platform.tool = f"{running['address']}/hub/lti13/oauth_login"
            platform.redirects = {f"{running['address']}/hub/lti13/oauth_callback"}
            yield SimpleNamespace(
                folder=Path(running["folder"]),
                address=running["address"],
                suffix=running["suffix"],
                platform=platform,
                before=before,
            )
            process.communicate("\n", timeout=SECONDS)
        assert process.returncode == 0
    assert not Path(running["folder"]).exists() and not created(running["suffix"])


class Browser:
    """A browser's cookies. `open` and `post` return status and page, even of a refusal."""

    def __init__(self):
        # Browsers send secure cookies to this machine without TLS, too.
        self.jar = CookieJar(DefaultCookiePolicy(secure_protocols=("http", "https")))
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, address, form=None):
        try:
            with self.opener.open(address, form and urlencode(form).encode(), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def begin(self, platform, user, course=COURSE):
        """Open the tool from a course. Return the form that the platform sends to the hub: its address and fields."""
        status, page = self.open(f"{platform.address}/launch?user={user}&course={course}")
        assert status == 200, page
        address = re.search(r'action="([^"]+)"', page)[1]
        return address, {
            name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page)
        }

    def launch(self, platform, user, course=COURSE):
        return self.open(*self.begin(platform, user, course))


@pytest.fixture
def member(signed_in):
    """Return member(user, name), which adds a member of the course on the platform, and returns the account's name."""

    def add(user, name):
        signed_in.platform.people[user] = account = f"{name}{signed_in.suffix}"
        return account

    yield add
    signed_in.platform.people.clear()
    signed_in.platform.claims = {}
    signed_in.platform.signing_key = signed_in.platform.key


def test_a_new_member_gets_an_account(signed_in, member):
    account = member("21", "dora")
    status, page = Browser().launch(signed_in.platform, "21")
    assert status == 200 and account in page and "Logout" in page
    home = Path(pwd.getpwnam(account).pw_dir)
    assert home.parent == signed_in.folder and home.stat().st_mode & 0o777 == 0o700
    launch = read_launches(signed_in.folder, "default_course")[account]
    assert (launch.user, launch.line_items) == ("21", signed_in.platform.course.line_items)
    assert groups_of(account, signed_in) == {"transformer-members", "transformer-students"}


def groups_of(account, signed_in):
    """Return the groups of the machine that the demonstration made and this account is in."""
    return {g.gr_name.removesuffix(signed_in.suffix) for g in grp.getgrall() if account in g.gr_mem}


def test_a_member_with_an_account_gets_that(signed_in, member):
    account = member("22", "ada")
    status, page = Browser().launch(signed_in.platform, "22")
    assert status == 200 and account in page and account not in created(signed_in.suffix)


def test_only_the_course_reads_the_launches(signed_in, member):
    account = member("21", "dora")
    Browser().launch(signed_in.platform, "21")
    file = signed_in.folder / "launches" / "default_course" / f"{account}.json"
    assert try_as(f"course{signed_in.suffix}", "cat", file).returncode == 0
    for stranger in (account, f"other{signed_in.suffix}"):  # the account of the other course, too
        assert try_as(stranger, "cat", file).returncode and try_as(stranger, "ls", file.parent).returncode
    assert try_as(f"course{signed_in.suffix}", "touch", file).returncode


def test_a_launch_works_once(signed_in, member):
    member("21", "dora")
    browser = Browser()
    form = browser.begin(signed_in.platform, "21")
    stolen = copy.deepcopy(list(browser.jar))
    assert browser.open(*form)[0] == 200
    thief = Browser()
    assert thief.open(*form)[0] == 400  # without the cookies of the browser that began it
    for cookie in stolen:
        thief.jar.set_cookie(cookie)
    status, page = thief.open(*form)
    assert status == 400 and "This launch was used before" in page


def test_a_launch_belongs_to_the_browser_that_began_it(signed_in, member):
    member("21", "dora")
    one, other = Browser(), Browser()
    form, _ = one.begin(signed_in.platform, "21"), other.begin(signed_in.platform, "21")
    assert other.open(*form)[0] == 400
    assert one.open(*form)[0] == 200


NOW = time.time()
BROKEN = {
    "another issuer": {"iss": "https://elsewhere.example.org"},
    "another tool": {"aud": "another-client"},
    "expired": {"iat": NOW - 400, "exp": NOW - 100},
    "issued long ago": {"iat": NOW - 7200},
    "issued in the future": {"iat": NOW + 7200, "exp": NOW + 7500},
    "never expires": {"exp": None},
    "without a nonce": {"nonce": None},
    "another nonce": {"nonce": "0" * 64},
    "another version": {f"{LTI}/version": "1.2.0"},
    "another deployment": {f"{LTI}/deployment_id": "2"},
    "another course": {f"{LTI}/context": {"id": "9", "title": "Another course"}},
    "the other course's tool": {f"{LTI}/context": {"id": OTHER, "title": "The other course"}},
    "no course": {f"{LTI}/context": None},
    "no login": {f"{LTI}/custom": None},
    "no person": {"sub": None},
    "of another tool": {"aud": [CLIENTS[COURSE], "another-client"], "azp": "another-client"},
    "only of another tool": {"azp": "another-client"},
    "a person of another type": {"sub": 31},
    "persons": {"sub": ["31"]},
    "a course of another type": {f"{LTI}/context": COURSE},
    "a link of another type": {f"{LTI}/resource_link": "4"},
    "a login outside of its claim": {f"{LTI}/custom": "eve"},
    "a deployment of another type": {f"{LTI}/deployment_id": {"id": "1"}},
    "roles of another type": {f"{LTI}/roles": {}},
    "a gradebook of another type": {f"{AGS}/claim/endpoint": ["columns"]},
}


@pytest.mark.parametrize("claims", BROKEN.values(), ids=BROKEN)
def test_a_broken_launch_creates_nothing(signed_in, member, claims):
    account = member("31", "eve")
    signed_in.platform.claims = claims
    status, page = Browser().launch(signed_in.platform, "31")
    assert status in (400, 401, 403)
    assert account not in created(signed_in.suffix) and account not in read_or_none(signed_in.folder)


def test_a_launch_with_a_wrong_signature_creates_nothing(signed_in, member):
    account = member("31", "eve")
    signed_in.platform.signing_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert Browser().launch(signed_in.platform, "31")[0] == 400
    browser = Browser()
    address, form = browser.begin(signed_in.platform, "31")
    claims = learning_platform.jwt.decode(form["id_token"], options={"verify_signature": False})
    form["id_token"] = learning_platform.jwt.encode(claims, None, algorithm="none", headers={"kid": "p1"})
    assert browser.open(address, form)[0] == 400
    assert account not in created(signed_in.suffix)


def read_or_none(folder):
    return {path.stem for path in (folder / "launches").rglob("*.json")}


def test_a_launch_from_another_course_makes_a_student_of_that_course(signed_in, member):
    """What nbgrader shows follows from the hub's groups, which follow the machine's."""
    other = signed_in.platform.courses[OTHER]
    account = member("41", "gus")
    browser = Browser()
    assert browser.launch(signed_in.platform, "41", OTHER)[0] == 200
    assert json.loads(browser.open(f"{signed_in.address}/hub/api/user")[1])["groups"] == ["nbgrader-other_course"]
    assert groups_of(account, signed_in) == {"transformer-members", "other-students"}
    assert read_launches(signed_in.folder, "other_course")[account].line_items == other.line_items
    assert account not in read_launches(signed_in.folder, "default_course")
    member("42", "gus")
    assert Browser().launch(signed_in.platform, "42")[0] == 403  # another person, who comes from the first course


def test_the_hub_follows_the_groups_of_the_machine(signed_in, member):
    account = member("44", "ines")
    signed_in.platform.claims = {f"{LTI}/roles": [INSTRUCTOR]}
    assert hub_groups(signed_in, "44") == {"formgrade-default_course"}
    subprocess.run(["gpasswd", "--delete", account, f"transformer-graders{signed_in.suffix}"], check=True)
    assert hub_groups(signed_in, "44") == {"nbgrader-default_course"}  # the launch makes a student of ines


def hub_groups(signed_in, user):
    """Launch from the first course, and return the hub's groups of the account."""
    browser = Browser()
    assert browser.launch(signed_in.platform, user)[0] == 200
    return set(json.loads(browser.open(f"{signed_in.address}/hub/api/user")[1])["groups"])


def test_instructors_stay_instructors(signed_in, member):
    account = member("43", "ivo")
    signed_in.platform.claims = {f"{LTI}/roles": [INSTRUCTOR]}
    before = groups_of(account, signed_in)
    assert Browser().launch(signed_in.platform, "43", OTHER)[0] == 200
    assert groups_of(account, signed_in) == before


def test_only_a_teacher_gets_an_instructors_account(signed_in, member):
    member("45", "iris")
    status, page = Browser().launch(signed_in.platform, "45")
    assert status == 403 and "Open the hub as a teacher first" in page
    signed_in.platform.claims = {f"{LTI}/roles": [INSTRUCTOR]}
    assert Browser().launch(signed_in.platform, "45")[0] == 200
    signed_in.platform.claims = {}
    assert Browser().launch(signed_in.platform, "45")[0] == 200  # the account belongs to this person now


def test_a_launch_from_before_the_hubs_start_is_refused(signed_in, member):
    member("21", "dora")
    signed_in.platform.claims = {"iat": signed_in.before}
    assert Browser().launch(signed_in.platform, "21")[0] == 400


def test_unknown_keys_make_the_hub_ask_for_keys_once(signed_in, member):
    member("21", "dora")
    before = len(signed_in.platform.requests)
    for number in range(5):
        browser = Browser()
        address, form = browser.begin(signed_in.platform, "21")
        form["id_token"] = learning_platform.jwt.encode(
            {}, signed_in.platform.key, algorithm="RS256", headers={"kid": f"unknown-{number}"}
        )
        assert browser.open(address, form)[0] == 400
    asked = [path for _, path in signed_in.platform.requests[before:] if path == "/keys"]
    assert len(asked) <= 1


@pytest.mark.parametrize(
    "login", ["root", "daemon", "4711", "../etc", "a b", "", "-x", "x" * 40, None, "\N{KELVIN SIGN}ate"]
)
def test_a_login_never_becomes_an_account_of_the_machine(signed_in, member, login):
    member("32", "eve")
    signed_in.platform.claims = {f"{LTI}/custom": {"login": login}}
    before = pwd.getpwall()
    status, _ = Browser().launch(signed_in.platform, "32")
    assert status == 403 and pwd.getpwall() == before and login not in read_or_none(signed_in.folder)


def test_the_course_and_another_persons_account_are_refused(signed_in, member):
    member("33", "course")
    assert Browser().launch(signed_in.platform, "33")[0] == 403
    member("21", "dora")
    assert Browser().launch(signed_in.platform, "21")[0] == 200
    member("34", "dora")
    status, page = Browser().launch(signed_in.platform, "34")
    assert status == 403 and "belongs to another person" in page


def test_people_who_come_without_a_launch_learn_where_to_begin(signed_in):
    status, page = Browser().open(f"{signed_in.address}/hub/")
    assert status == 403 and f"Open this hub from your course on {signed_in.platform.address}" in html.unescape(page)


def test_scores_go_back_to_the_members_who_signed_in(signed_in, member, tmp_path, capsys, monkeypatch):
    from nbgrader.api import Gradebook

    from autograder.cli.main import main
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.hub.passback.key import make_key
    from tests.conftest import CHAPTER

    account = member("21", "dora")
    Browser().launch(signed_in.platform, "21")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    signed_in.platform.course.tool_key = make_key(tmp_path).public_key()
    directory = open_coursedir(tmp_path, CHAPTER)
    with Gradebook(directory.db_url, directory.course_id) as book:
        book.add_assignment(CHAPTER)
        book.add_notebook(CHAPTER, CHAPTER)
        book.add_grade_cell("check-softmax", CHAPTER, CHAPTER, max_score=5, cell_type="code")
        book.add_student(account)
        book.add_submission(CHAPTER, account).notebooks[0].grades[0].auto_score = 4
        book.db.commit()
    assert main(["passback", CHAPTER, "--course", str(tmp_path), "--hub", str(signed_in.folder)]) == 0
    assert [score["scoreGiven"] for score in signed_in.platform.course.scores.values()] == [4]
    assert json.loads((tmp_path / "passback.json").read_text())[CHAPTER][account]["user"] == "21"
