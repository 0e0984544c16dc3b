"""The end of each page: the version, and a link to report a problem if the book has an address for that."""

from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup

from autograder.version import version
from tests.book.conftest import build_book, built_page, jupyter_book, page
from tests.book.live.conftest import configure

pytestmark = pytest.mark.book


def end_of(folder):
    return BeautifulSoup(built_page(folder), "lxml").select_one(".bd-footer-content .extra_footer")


def report_to(folder, address):
    configure(folder, lambda config: config["sphinx"]["config"].update(report_to=address))


def test_a_page_names_its_version_and_links_to_a_report_only_with_an_address(little_book):
    page(little_book, text="Text.")
    build_book(little_book)
    assert end_of(little_book).get_text().strip() == f"Version {version()}" and not end_of(little_book).find("a")

    report_to(little_book, "help@uni.example.org")
    build_book(little_book)
    link = urlsplit(end_of(little_book).find("a", string="Report a problem on this page")["href"])
    assert link.scheme == "mailto"
    assert f"Page: chapters/01_attention\nVersion: {version()}" in parse_qs(link.query)["body"][0]


def test_a_wrong_address_ends_the_build_at_once(little_book):
    page(little_book, text="Text.")
    report_to(little_book, "somebody")
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "write an e-mail address" in built.stdout + built.stderr
