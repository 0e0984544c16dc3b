"""Attacks on the pipe of replies: replies that are forged, early, late, too many, too long, malformed or pickled."""

from tests.attacks.attack import Attack
from tests.forging_tools import FIND_CHANNEL

TOOLS = (
    FIND_CHANNEL
    + """
def reply(**changes):
    parts = {"tree": {"kind": "float", "value": "0x1p+0"}, "raised": None, "digests": {}, "stopped": ""}
    return {"id": outstanding(), **parts, "arrays": [], **changes}

def frame_of(message, after=b""):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data + after

def send(message, after=b""):
    os.write(runner().replies, frame_of(message, after))

class Payload:
    def __reduce__(self):
        return os.system, ("touch {course}/escaped {tmp}/escaped",)
"""
)
NO_ANSWER = "sent something that is not an answer"


def _forged(what, body, words=NO_ANSWER):
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return Attack(what, f"{TOOLS}\ndef attempt(*args, **kwargs):\n{lines}\n", words)


CHANNEL = (
    _forged("sends its own verdict", "send(reply(earned=22.0, points=22.0, passed=True))\nreturn 1"),
    _forged("replies to its own request, and then returns a value too", "send(reply())\nreturn 1"),
    _forged("replies to the same request a hundred times", "for _ in range(100):\n    send(reply())\nreturn 1"),
    _forged(
        "replies late, during the next request",
        "late = runner().replies, frame_of(reply())\nthreading.Timer(0.05, os.write, late).start()\n"
        "time.sleep(0.02)\nreturn np.zeros(3)",
        words="",
    ),
    _forged("announces a header of four gigabytes", "os.write(runner().replies, b'\\xff' * 4)\ntime.sleep(9)"),
    _forged("sends an array of a terabyte", "send(reply(arrays=[['float64', [2**37]]]))\ntime.sleep(9)"),
    _forged("sends an array of Python objects", "send(reply(arrays=[['object', [1]]]), b'x' * 8)\ntime.sleep(9)"),
    _forged("sends a pickle that runs a program", "send(pickle.dumps(Payload()))\ntime.sleep(9)"),
    _forged(
        "sends an array whose elements are pickles",
        "data = np.array([Payload()], dtype=object).dumps()\n"
        "send(reply(arrays=[['uint8', [len(data)]]]), data)\nreturn 1",
    ),
    _forged("sends a header nested a hundred thousand deep", "send(b'[' * 10**5)\ntime.sleep(9)"),
    _forged(
        "sends a header of twenty thousand arrays",
        "many = ','.join('[\"int8\",[0]]' for _ in range(20000)).encode()\n"
        "send(b'{\"arrays\":[' + many + b']}')\ntime.sleep(9)",
    ),
    _forged(
        "writes a reply to every descriptor it can find",
        """
for folder in ("/proc/self/fd", "/proc/1/fd", "/dev/fd"):
    try:
        descriptors = os.listdir(folder)
    except OSError:
        continue
    for number in descriptors:
        for path in (f"{folder}/{number}",):
            try:
                with open(path, "wb", buffering=0) as file:
                    os.set_blocking(file.fileno(), False)
                    file.write(frame_of(reply()))
            except OSError:
                pass
return 1
""",
    ),
    _forged(
        "replaces itself by another program that replies for it",
        """
mine = runner()
for descriptor in (mine.requests, mine.replies):
    os.set_inheritable(descriptor, True)
answer = frame_of(reply())
code = f"import os; os.write({mine.replies}, {answer!r})"
os.execv("/proc/self/exe", ["python", "-I", "-S", "-c", code])
""",
        words="",
    ),
)
