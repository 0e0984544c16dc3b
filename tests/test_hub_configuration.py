"""The configuration of a hub with several courses, without running one. `pytest -m hub` runs a hub with two courses."""

import grp
import shutil
from types import SimpleNamespace

import pytest
from nbgrader.auth import JupyterHubAuthPlugin
from nbgrader.auth.base import Authenticator
from traitlets.config.loader import PyFileConfigLoader

from autograder.layout import REPO

GROUPS = {"members": ["ada", "ines", "ivo"], "a-graders": ["ines"], "b-students": ["ines"], "b-graders": ["ivo"]}
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
    monkeypatch.setattr(grp, "getgrnam", lambda name: SimpleNamespace(gr_mem=GROUPS[name]))
    shutil.copy(REPO / "deploy" / "jupyterhub_config.py", tmp_path)

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
    assert {name: group["users"] for name, group in c.JupyterHub.load_groups.items()} == {
        "formgrade-a": ["ines"],
        "nbgrader-a": GROUPS["members"],
        "formgrade-b": ["ivo"],
        "nbgrader-b": ["ines"],
    }


def test_instructors_may_enter_their_own_course_only(hub):
    scopes = {tuple(role["groups"]): role["scopes"] for role in hub(HUB).JupyterHub.load_roles}
    for course in "ab":
        of_course = scopes[(f"formgrade-{course}",)]
        assert f"access:services!service={course}" in of_course
        assert all(scope.endswith(f"!service={course}") for scope in of_course)


def test_only_instructors_get_the_course_list(hub):
    paths = hub(HUB).Spawner.environment["JUPYTER_CONFIG_PATH"]
    pages = {
        name: paths(SimpleNamespace(user=SimpleNamespace(name=name))).split(":")[0].rpartition("/")[2]
        for name in GROUPS["members"]
    }
    assert pages == {"ada": "students", "ines": "instructors", "ivo": "instructors"}


@pytest.fixture
def exchange(monkeypatch):
    """Return exchange(courses of the hub) -> what the servers of people read."""

    def load(courses):
        monkeypatch.setenv("HUB_COURSES", courses)
        return PyFileConfigLoader("nbgrader_config.py", path=str(REPO / "deploy")).load_config()

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
