"""Parts of the sandbox, tested separately: frames, calls, and the filters of system calls."""

import errno
import io
import os
import struct
from functools import cache

import numpy as np
import pytest

from autograder.sandbox import Limits, SandboxUnavailable, outcomes, seccomp
from autograder.sandbox.inside import frames
from autograder.sandbox.system_calls import NUMBERS
from check import calling, input_functions, values
from tests.choosing import thinned

pytestmark = pytest.mark.sandbox


def read_from(data):
    stream = io.BytesIO(data)

    def read(n_bytes):
        piece = stream.read(n_bytes)
        if len(piece) < n_bytes:
            raise EOFError
        return piece

    return read


def test_a_call_in_the_sandbox_does_not_copy_its_inputs():
    received = {}
    inputs = {"x": np.ones(2), "f": input_functions.sum_of_squares}
    outcome, digests = calling.call(lambda **given: received.update(given) or given["f"](given["x"]), inputs)
    assert received["x"] is inputs["x"] and received["f"] is not inputs["f"]  # functions are disguised
    assert outcome.value == 2 and calling.modified(inputs, digests) == ()


def test_decoding_a_frame_returns_what_was_encoded():
    arrays = [np.arange(6).astype(dtype).reshape(2, 3) for dtype in values.DTYPES]
    arrays += [np.zeros((0, 4)), np.float32(2).reshape(()), np.array([True, False])]
    message, decoded = frames.decode(read_from(frames.encode({"name": "Müller"}, arrays)), max_bytes=10**4)
    assert message == {"name": "Müller"}
    for array, other in zip(arrays, decoded, strict=True):
        np.testing.assert_array_equal(array, other)
        assert array.dtype == other.dtype and array.shape == other.shape


def test_half_a_surrogate_pair_is_replaced():
    message, _ = frames.decode(read_from(frames.encode({"text": "\ud800"})), max_bytes=0)
    assert message == {"text": "?"}


def test_every_truncated_frame_ends_early():
    frame = frames.encode({"a": 1}, [np.arange(3)])
    for length in range(len(frame)):
        with pytest.raises(EOFError):
            frames.decode(read_from(frame[:length]), max_bytes=100)


def test_a_frame_with_random_changes_is_valid_malformed_or_too_short():
    rng = np.random.default_rng(0)
    good = frames.encode({"tree": {"kind": "array", "index": 0}, "id": "x"}, [np.arange(3.0)])
    for _ in range(2000):
        frame = bytearray(good)
        for place in rng.integers(0, len(frame), size=3):
            frame[place] = rng.integers(256)
        try:
            message, arrays = frames.decode(read_from(bytes(frame)), max_bytes=1000)
            outcomes.read_outcome(message, arrays, inputs={}, sources={}, seconds=1, limits=Limits())
        except (values.Malformed, EOFError):
            pass


def test_the_byte_limit_counts_all_arrays_together():
    frame = frames.encode({}, [np.zeros(10), np.zeros(10)])
    assert len(frames.decode(read_from(frame), max_bytes=160)[1]) == 2
    with pytest.raises(values.Malformed, match="too large"):
        frames.decode(read_from(frame), max_bytes=159)


@cache
def default_program(machine):
    return seccomp.program(machine)


@cache
def rules_of(program):
    return list(struct.iter_unpack("=HBBI", program))


def filter_result(machine, name="", *arguments, number=None, called_on=None, program=b""):
    """Return the filter's result for a call; this interprets the few BPF instructions that the filters use."""
    number = NUMBERS[machine][name] if number is None else number
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, called_on or seccomp._MACHINES[machine], 0, *words)
    rules = rules_of(program or default_program(machine))
    at = loaded = 0
    while True:
        code, if_true, if_false, value = rules[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", data, value)
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += if_true if holds else if_false


ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_allows_only_the_named_calls(machine):
    assert {filter_result(machine, name) for name in seccomp.allowed(machine)} == {ALLOW}
    known = {NUMBERS[machine][name] for name in (*seccomp.allowed(machine), *seccomp.USES, "clone")}
    assert {filter_result(machine, number=number) for number in set(range(424)) - known} == {EPERM}
    assert {filter_result(machine, number=number) for number in set(range(424, 600)) - known} == {ENOSYS}
    assert filter_result(machine, "clone3") == ENOSYS
    assert filter_result(machine, "clone", 0x00010000 | 0x100) == ALLOW
    assert filter_result(machine, "clone", 0x11) == filter_result(machine, "clone", 0x4000 | 0x100) == EPERM
    assert filter_result(machine, number=0, called_on=0x40000003) == KILL
    assert filter_result("x86_64", number=0x40000000 | 56) == filter_result("x86_64", number=0xFFFFFFFF) == KILL


@pytest.mark.parametrize("machine", thinned(["x86_64", "aarch64"], ["x86_64"], "other numbers of the same calls"))
@pytest.mark.parametrize(("name", "use"), seccomp.USES.items(), ids=seccomp.USES)
def test_the_filter_allows_only_the_named_uses_of_a_call(machine, name, use):
    argument, values = use
    allowed = {value for value in range(0x5500) if filter_result(machine, name, *[0] * argument, value) == ALLOW}
    assert allowed == set(values.values())


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_closing_filter_forbids_other_programs_and_other_limits(machine):
    close = seccomp.closing(machine)
    assert filter_result(machine, "execve", program=close) == filter_result(machine, "execveat", program=close) == EPERM
    for new in (1, 1 << 32, 0x7FFF_FFFF_0000):
        assert filter_result(machine, "prlimit64", 0, 4, new, program=close) == EPERM
    assert filter_result(machine, "prlimit64", 0, 4, 0, 0x7FFF_FFFF_0000, program=close) == ALLOW
    assert (
        filter_result(machine, "prctl", 22, program=close)
        == filter_result(machine, "prctl", 4, 1, program=close)
        == EPERM
    )
    assert filter_result(machine, "prctl", 15, program=close) == ALLOW
    assert filter_result(machine, "read", program=close) == filter_result(machine, number=423, program=close) == ALLOW
    assert filter_result(machine, number=0, called_on=0x40000003, program=close) == KILL


def test_every_named_call_has_a_number():
    named = [name for group in seccomp.ALLOWED.values() for name in group.split()]
    assert len(named) == len(set(named)) and named == seccomp.allowed("x86_64")
    for numbers in NUMBERS.values():
        assert len(set(numbers.values())) == len(numbers)
        assert set(numbers) <= {*named, *seccomp.USES, "clone", "clone3", "execveat"}
    assert {name for name in named if name not in NUMBERS["aarch64"]} == {
        *("access", "alarm", "arch_prctl", "chmod", "dup2", "getpgrp", "lstat", "mkdir", "open", "pause", "pipe"),
        *("poll", "readlink", "rename", "rmdir", "select", "stat", "symlink", "time", "unlink"),
    }


def test_the_sandbox_is_unavailable_on_a_machine_without_a_filter():
    with pytest.raises(SandboxUnavailable, match="riscv64"):
        seccomp.program("riscv64")


def test_no_descriptor_is_inherited_by_accident(ask):
    with open(os.devnull) as secret:
        os.set_inheritable(secret.fileno(), True)
        outcome = ask("import os\ndef f():\n    return [os.readlink(f'/proc/self/fd/{n}') for n in range(3, 64) "
                      "if os.path.exists(f'/proc/self/fd/{n}')]", "f")  # fmt: skip
    assert all(name.startswith("pipe:") for name in outcome.value) and len(outcome.value) == 2
