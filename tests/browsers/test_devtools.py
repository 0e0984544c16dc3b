"""The commands to Chromium, with a socket that replays Chromium's messages."""

import json

import pytest

from tests.browsers.devtools import Browser

pytestmark = pytest.mark.book


class Replay:
    """A socket that returns the given messages one after another."""

    def __init__(self, *messages):
        self.messages = list(messages)

    def send(self, text):
        pass

    def recv(self):
        return json.dumps(self.messages.pop(0))


def navigated(loader):
    return {"method": "Page.frameNavigated", "params": {"frame": {"loaderId": loader}}}


def browser_with(*messages):
    browser = Browser("chromium")
    browser._socket = Replay(*messages)
    return browser


def test_go_returns_after_the_new_document_has_replaced_the_old_one():
    browser = browser_with({"id": 1, "result": {"loaderId": "new"}}, navigated("frame inside"), navigated("new"))
    browser.go("http://127.0.0.1/")
    assert browser._socket.messages == []


def test_go_does_not_wait_if_the_event_came_before_the_answer():
    browser = browser_with(navigated("new"), {"id": 1, "result": {"loaderId": "new"}})
    browser.go("http://127.0.0.1/")


def test_go_does_not_wait_for_a_new_document_if_only_the_fragment_changes():
    browser = browser_with({"id": 1, "result": {}})
    browser.go("http://127.0.0.1/#section")


def test_late_requests_of_the_page_before_are_not_counted():
    def request(loader):
        return {"method": "Network.requestWillBeSent", "params": {"loaderId": loader, "request": {"url": loader}}}

    answers = [{"id": number, "result": {"loaderId": loader}} for number, loader in ((1, "old"), (2, "new"))]
    browser = browser_with(answers[0], navigated("old"), request("old"), answers[1], request("new"), navigated("new"))
    browser.go("http://127.0.0.1/1")
    browser.go("http://127.0.0.1/2")
    assert browser.requested_urls() == ["new"]


def test_wait_goes_on_in_the_page_that_a_click_opens():
    gone = {"id": 1, "error": {"code": -32000, "message": "Inspected target navigated or closed"}}
    browser = browser_with(gone, {"id": 2, "result": {"result": {"value": True}}})
    browser.wait("location.href.endsWith('glossary.html')")
    assert browser._socket.messages == []
