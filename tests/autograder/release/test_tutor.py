"""The file that asks coding agents to be a tutor: agents find it, and the policy agrees with it."""

import pytest

from autograder.layout import REPO
from autograder.release.bundle import tutor_files
from autograder.release.gate import scan_bytes, secrets_of_book

pytestmark = pytest.mark.autograder
TUTOR = tutor_files()["AGENTS.md"].decode()


def test_the_file_has_the_names_that_agents_look_for_and_the_others_include_it():
    files = tutor_files()
    assert list(files) == ["AGENTS.md", "CLAUDE.md", "GEMINI.md"]
    for pointer in (files["CLAUDE.md"], files["GEMINI.md"]):
        assert pointer.decode().splitlines()[0] == "@AGENTS.md"


def test_an_agent_can_read_all_of_the_file_at_once():
    assert len(TUTOR.splitlines()) <= 64


def test_the_file_gives_no_solution_away():
    assert [leak for name, data in tutor_files().items() for leak in scan_bytes(name, data, secrets_of_book())] == []


def test_the_policy_for_students_agrees_with_the_file():
    page = (REPO / "chapters" / "teaching.md").read_text(encoding="utf-8")
    policy = page.partition("## A policy on AI tools")[2].partition("```text")[2].partition("```")[0]
    assert "Leave the file AGENTS.md" in policy and "one line that names the exercise and the\nreason" in policy
    assert "text of an exercise" not in policy, "an agent in the folder reads it anyway"
    assert "Exception: softmax, because" in TUTOR and "one line, which names the exercise and the reason" in TUTOR
    assert "names the tool" in " ".join(TUTOR.split()) and "which tool it was" in " ".join(policy.split())
