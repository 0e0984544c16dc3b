"""Fixtures for tests that change how sandboxes start. The other tests of a process share its warm sandboxes."""

import pytest

from autograder.sandbox import warm


@pytest.fixture
def sandboxes(monkeypatch):
    """Warm sandboxes that only this test uses, about which nothing is known yet."""
    for name, value in vars(warm.WarmSandboxes()).items():
        monkeypatch.setattr(warm.sandboxes, name, value)
    yield warm.sandboxes
    warm.sandboxes.end()


@pytest.fixture
def none_warm(sandboxes, monkeypatch):
    """A machine that allows no warm sandboxes."""
    monkeypatch.setattr(sandboxes, "_usable", False)
