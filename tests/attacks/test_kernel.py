"""What is asked of the kernel is refused: each attack is an exercise of one submission, judged by itself."""

import pytest

from autograder.sandbox import Call, Cell, run
from tests.attacks.conftest import SMALL
from tests.attacks.kernel import KERNEL, TOOLS

pytestmark = pytest.mark.attacks


@pytest.fixture(scope="module")
def given(bundle):
    """What each attack was given."""
    names = {attack.what: f"attempt_{number}" for number, attack in enumerate(KERNEL)}
    cells = [Cell(names[attack.what], attack.source.replace("attempt", names[attack.what], 1)) for attack in KERNEL]
    done = run([Cell("tools", TOOLS), *cells], [Call(name, {}) for name in names.values()], bundle=bundle, limits=SMALL)
    assert not any(done.cells.values()) and done.notes == []
    return dict(zip(names, done.outcomes, strict=True))


@pytest.mark.parametrize("what", [attack.what for attack in KERNEL])
def test_it_is_refused(given, what):
    assert given[what].raised is None and given[what].value == [], given[what]


def test_without_the_filters_much_of_it_is_given(bundle, monkeypatch):
    from autograder.sandbox import seccomp
    from tests.autograder.sandbox.weaker import ALLOW_EVERYTHING

    monkeypatch.setattr(seccomp, "program", lambda: ALLOW_EVERYTHING)
    monkeypatch.setattr(seccomp, "closing", lambda: ALLOW_EVERYTHING)
    wanted = ("locks a range of a file", "locks a whole file", "collects events", "lets a crash dump core")
    cells = [Cell(attack.what, attack.source) for attack in KERNEL if attack.what in wanted]
    for cell in cells:
        done = run([Cell("tools", TOOLS), cell], [Call("attempt", {})], bundle=bundle, limits=SMALL)
        assert done.outcomes[0].value != [], cell.id
