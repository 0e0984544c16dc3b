"""Where readers report a problem, and what a link for that says."""

from urllib.parse import parse_qs, urlsplit

import pytest

from autograder.errors import UserError
from autograder.problem_reports import configured_address, report_link, report_template
from autograder.version import version

pytestmark = pytest.mark.autograder
ABOUT = "Exercise: softmax\nVerdict: value, on the case “&{subject}=1”"


def test_the_repository_names_no_address():
    assert configured_address() == ""


def test_without_an_address_there_is_no_link():
    assert report_template("") == report_link("", "softmax", ABOUT) == ""


def test_an_e_mail_address_becomes_a_link_with_subject_and_body():
    link = urlsplit(report_link(report_template("help@uni.example.org"), "softmax", ABOUT))
    texts = parse_qs(link.query, strict_parsing=True)
    assert (link.scheme, link.path) == ("mailto", "help@uni.example.org")
    assert texts["subject"] == [f"softmax, version {version()}"]
    assert texts["body"][0].startswith(f"{ABOUT}\nVersion: {version()}\n\nWhat is wrong")


def test_a_form_gets_the_texts_where_its_address_names_them():
    form = "https://github.com/OWNER/REPO/issues/new?template=problem.yml&happened={body}&place={subject}#top"
    link = urlsplit(report_link(report_template(form), "softmax", ABOUT))
    texts = parse_qs(link.query, strict_parsing=True)
    assert texts["template"] == ["problem.yml"] and texts["place"] == [f"softmax, version {version()}"]
    assert texts["happened"][0].startswith(ABOUT) and link.fragment == "top"
    assert (
        report_link(report_template("https://form.example/x?y=%20"), "softmax", ABOUT) == "https://form.example/x?y=%20"
    )


WRONG = ("help", "javascript:alert(1)", "https://form.example/{text}", "a@b.example?cc=c@d.example")


@pytest.mark.parametrize("wrong", WRONG)
def test_another_address_is_refused_with_what_to_write(wrong):
    with pytest.raises(UserError, match="write an e-mail address, or the address of a form"):
        report_template(wrong)
