"""The kernel refuses what an attack asks for. Each attack is one function of the same submission."""

import pytest

from autograder.sandbox import Call, Cell, run
from tests.attacks.conftest import SMALL
from tests.attacks.kernel import KERNEL, TOOLS

pytestmark = pytest.mark.attacks


@pytest.fixture(scope="module")
def outcomes(bundle):
    """The outcome of each attack, by name."""
    names = {attack.what: f"attempt_{number}" for number, attack in enumerate(KERNEL)}
    cells = [Cell(names[attack.what], attack.source.replace("attempt", names[attack.what], 1)) for attack in KERNEL]
    result = run([Cell("tools", TOOLS), *cells], [Call(n, {}) for n in names.values()], bundle=bundle, limits=SMALL)
    assert not any(result.cells.values()) and result.notes == []
    return dict(zip(names, result.outcomes, strict=True))


@pytest.mark.parametrize("what", [attack.what for attack in KERNEL])
def test_the_kernel_refuses_each_attack(outcomes, what):
    assert outcomes[what].raised is None and outcomes[what].value == [], outcomes[what]


def test_without_the_filters_some_attacks_work(bundle, monkeypatch, sandboxes):
    from autograder.sandbox import seccomp
    from tests.autograder.sandbox.weaker import ALLOW_EVERYTHING

    monkeypatch.setattr(seccomp, "program", lambda: ALLOW_EVERYTHING)
    monkeypatch.setattr(seccomp, "closing", lambda: ALLOW_EVERYTHING)
    works = ("locks a range of a file", "locks a whole file", "collects events", "lets a crash dump core")
    cells = [Cell(attack.what, attack.source) for attack in KERNEL if attack.what in works]
    for cell in cells:
        result = run([Cell("tools", TOOLS), cell], [Call("attempt", {})], bundle=bundle, limits=SMALL)
        assert result.outcomes[0].value != [], cell.id
