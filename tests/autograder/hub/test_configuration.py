"""The configuration of a hub with several courses, without running one. `pytest -m hub` runs a hub with two courses."""

import grp
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbgrader.auth import Authenticator, JupyterHubAuthPlugin
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeFetchAssignment
from traitlets.config.loader import PyFileConfigLoader

from autograder.hub.deploy import machine
from tests.conftest import CHAPTER

DEPLOY = Path(machine.__file__).parent
GROUPS = {name: SimpleNamespace(gr_name=name) for name in ("members", "a-graders", "b-students", "b-graders")}
HUB = """
members = "members"
[courses.a]
students = "members"
instructors = "a-graders"
account = "course-a"
folder = "/srv/a/course"
environment = "/srv/a/.venv"
port = 8010
[courses.b]
students = "b-students"
instructors = "b-graders"
account = "course-b"
folder = "/srv/b/course"
environment = "/srv/b/.venv"
port = 8011
"""


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Return hub(text of hub.toml) -> what jupyterhub_config.py sets."""
    monkeypatch.setattr(grp, "getgrnam", GROUPS.__getitem__)
    shutil.copy(DEPLOY / "jupyterhub_config.py", tmp_path)

    def load(text):
        (tmp_path / "hub.toml").write_text(text)
        return PyFileConfigLoader("jupyterhub_config.py", path=str(tmp_path)).load_config()

    return load


def test_each_course_has_its_server_its_account_and_its_instructors(hub):
    c = hub(HUB)
    assert {s["name"]: (s["user"], s["cwd"], s["url"][-5:]) for s in c.JupyterHub.services} == {
        "a": ("course-a", "/srv/a/course", ":8010"),
        "b": ("course-b", "/srv/b/course", ":8011"),
    }
    assert c.MachineGroups.machine_groups == {
        "formgrade-a": "a-graders",
        "nbgrader-a": "members",
        "formgrade-b": "b-graders",
        "nbgrader-b": "b-students",
    }


def test_instructors_may_enter_their_own_course_only(hub):
    scopes = {tuple(role["groups"]): role["scopes"] for role in hub(HUB).JupyterHub.load_roles}
    for course in "ab":
        of_course = scopes[(f"formgrade-{course}",)]
        assert f"access:services!service={course}" in of_course
        assert all(scope.endswith(f"!service={course}") for scope in of_course)


def test_a_group_that_the_machine_lacks_stops_the_hub(hub):
    with pytest.raises(KeyError, match="c-graders"):
        hub(HUB.replace("b-graders", "c-graders"))


def test_only_instructors_get_the_course_list(hub):
    path = hub(HUB).Spawner.environment["JUPYTER_CONFIG_PATH"]
    pages = {}
    for groups in (("nbgrader-a",), ("nbgrader-a", "formgrade-b")):
        user = SimpleNamespace(groups=[SimpleNamespace(name=group) for group in groups])
        pages[groups] = path(SimpleNamespace(user=user)).split(":")[0].rpartition("/")[2]
    assert list(pages.values()) == ["students", "instructors"]


@pytest.fixture
def exchange(monkeypatch):
    """Return exchange(courses of the hub) -> what the servers of people read."""

    def load(courses):
        monkeypatch.setenv("HUB_COURSES", courses)
        return PyFileConfigLoader("nbgrader_config.py", path=str(DEPLOY)).load_config()

    return load


def test_people_see_the_courses_of_their_groups_if_there_are_several(hub, exchange):
    c = exchange(hub(HUB).Spawner.environment["HUB_COURSES"])
    assert Authenticator(config=c).plugin_class is JupyterHubAuthPlugin and c.Exchange.path_includes_course
    assert "course_id" not in c.CourseDirectory


def test_a_single_course_needs_no_choice(hub, exchange):
    c = exchange(hub(HUB[: HUB.index("[courses.b]")]).Spawner.environment["HUB_COURSES"])
    assert c.CourseDirectory.course_id == "a" and "plugin_class" not in c.Authenticator


def test_a_course_folder_keeps_its_own_name(exchange):
    c = exchange("")
    assert "course_id" not in c.CourseDirectory and "plugin_class" not in c.Authenticator


@pytest.mark.parametrize("courses, folder", [("a", CHAPTER), ("a b", f"a/{CHAPTER}")])
def test_students_fetch_into_a_folder_of_the_course_only_if_there_are_several(
    exchange, courses, folder, tmp_path, monkeypatch
):
    released = tmp_path / "exchange" / "a" / "outbound" / CHAPTER
    released.mkdir(parents=True)
    (released / f"{CHAPTER}.ipynb").write_text("{}")
    (tmp_path / "exchange" / "a" / "inbound").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setattr(JupyterHubAuthPlugin, "get_student_courses", lambda *_: ["a"])
    c = exchange(courses)
    c.Exchange.root = str(tmp_path / "exchange")
    coursedir = CourseDirectory(config=c, course_id="a", assignment_id=CHAPTER)
    ExchangeFetchAssignment(coursedir=coursedir, authenticator=Authenticator(config=c), config=c).start()
    assert [path.relative_to(tmp_path / "home") for path in (tmp_path / "home").rglob("*.ipynb")] == [
        Path(folder, f"{CHAPTER}.ipynb")
    ]


def test_the_demonstration_waits_for_a_hub_on_a_busy_machine(monkeypatch, tmp_path):
    answers = [urllib.error.URLError("refused"), TimeoutError("timed out"), None]

    def urlopen(*_, **__):
        if error := answers.pop(0):
            raise error
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    machine._wait_for("http://127.0.0.1:1/hub/health", SimpleNamespace(poll=lambda: None), tmp_path / "hub.log")
    assert answers == []
