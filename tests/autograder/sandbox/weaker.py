"""Weaken the sandbox in one way each, by changing bwrap's options."""

from autograder.layout import REPO
from autograder.sandbox import bubblewrap

ALLOW_EVERYTHING = b"\x06\x00\x00\x00\x00\x00\xff\x7f"


def without(options, *names, words=1):
    """Return the options without those named, each of which has this many words."""
    kept, skip = [], 0
    for word in options:
        if word in names and not skip:
            skip = words
        if skip:
            skip -= 1
        else:
            kept.append(word)
    return kept


def writable(options, *folders):
    """Return the options without those that make some folders read-only."""
    dropped = {i for i, w in enumerate(options[:-1]) if w == "--remount-ro" and options[i + 1] in folders}
    return [w for i, w in enumerate(options) if not {i, i - 1} & dropped]


def uncovered(options, folder):
    """Return the options without the empty folder that covers another."""
    at = options.index(folder)
    return writable([*options[: at - 1], *options[at + 1 :]], folder)


def before_the_root_is_closed(options, *more):
    """Return the options with more of them, before the one that makes the root read-only."""
    at = len(options) - 1 - options[::-1].index("--remount-ro")
    return [*options[:at], *more, *options[at:]]


def with_bound(options, folder, inside=None, how="--ro-bind"):
    """Return the options with one that shows a file or folder of this machine inside, at its own path by default."""
    return before_the_root_is_closed(options, how, str(folder), str(inside or folder))


# What is weaker -> the promise that the probe finds broken, and the function that changes the options.
WEAKER = {
    "the network is shared": ("no network", lambda o: without(o, "--unshare-net")),
    "processes are shared": ("own processes only", lambda o: without(o, "--unshare-pid")),
    "the first process is not covered": ("own processes only", lambda o: uncovered(o, "/proc/1")),
    "the kernel's command line is not covered": (
        "little told",
        lambda o: ["/proc/version" if w == "/proc/cmdline" else w for w in o],
    ),
    "the repository is bound": ("nothing else readable", lambda o: with_bound(o, REPO)),
    "the repository is bound elsewhere": ("nothing else readable", lambda o: with_bound(o, REPO, "/elsewhere")),
    "a secret file is bound": ("nothing else readable", lambda o: with_bound(o, "/etc/passwd", "/etc/passwd")),
    "the root stays writable": ("read only", lambda o: writable(o, "/")),
    "devices stay writable": ("read only", lambda o: writable(o, "/dev")),
    "the settings stay writable": ("settings locked", lambda o: writable(o, "/proc")),
    "the bundle is writable": (
        "read only",
        lambda o: ["--bind" if o[i + 2 : i + 3] == [str(bubblewrap.BUNDLE)] else w for i, w in enumerate(o)],
    ),
    "the disk is large": ("little disk", lambda o: without(o, "--size", words=2)),
    "a variable leaks": ("clean environment", lambda o: [*o, "--setenv", "SECRET", "seed"]),
    "root inside": ("no rights", lambda o: ["0" if w == "65534" else w for w in o]),
}
