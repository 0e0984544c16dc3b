"""Student code that finds the channel and writes to it: only a function's own reply is accepted."""

import pytest

from autograder.sandbox import Call, Cell, run
from tests.autograder.sandbox.conftest import X
from tests.forging_tools import FIND_CHANNEL
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
NOT_AN_ANSWER = "sent something that is not an answer"

TOOLS = (
    FIND_CHANNEL
    + """
def header(**changes):
    tree = {"kind": "float", "value": "0x1.8p+0"}
    return {"tree": tree, "raised": None, "digests": {}, "stopped": "", "arrays": [], **changes}

def wait():
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(60)

def send(message, after=b""):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    os.write(runner().replies, struct.pack(">I", len(data)) + data + after)
"""
)

FORGERIES = {
    "a missing id": "send(header())",
    "a wrong id": "send(header(id='0' * 32))",
    "text that is not JSON": "send(b'{')",
    "JSON that is not an object": "send(b'[]')",
    "invalid UTF-8": "send(b'\"\\xff\"')",
    "half a surrogate pair": "send(header(id=outstanding(), raised=['A', '\\ud800', '', 0]))",
    "deeply nested lists": "send(b'[' * 100000)",
    "a huge integer": "send(b'{\"id\": ' + b'9' * 100000 + b'}')",
    "NaN": "send(b'{\"id\": NaN}')",
    "a repeated key": 'send(b\'{"id": 1, "id": 1}\')',
    "a header that never comes": "os.write(runner().replies, b'\\xff\\xff\\xff\\xff')",
    "an array that never comes in full": "send(header(id=outstanding(), arrays=[['float64', [2 ** 40]]]))",
    "an impossible shape": "send(header(id=outstanding(), arrays=[['float64', [-1]]]))",
    "an empty array too large to exist": "send(header(id=outstanding(), arrays=[['int8', [0, 2 ** 47, 2 ** 47]]]))",
    "an array of objects": "send(header(id=outstanding(), arrays=[['object', [1]]]), b'x' * 8)",
    "a pickle": "send(b'\\x80\\x04]\\x94.')",
    "a bool with the value 2": (
        "send(header(id=outstanding(), tree={'kind': 'array', 'index': 0}, arrays=[['bool', [1]]]), b'\\x02')"
    ),
    "an array that the tree does not name": "send(header(id=outstanding(), arrays=[['int8', [1]]]), b'x')",
    "an array named twice": (
        "one = {'kind': 'array', 'index': 0}\n"
        "    send(header(id=outstanding(), tree={'kind': 'list', 'items': [one, one]}, arrays=[['int8', [1]]]), b'x')"
    ),
    "an unknown kind of value": "send(header(id=outstanding(), tree={'kind': 'code', 'value': '1'}))",
    "a value that is not a tree": "send(header(id=outstanding(), tree=[1, 2]))",
    "a list for the digests of inputs": "send(header(id=outstanding(), digests=['y']))",
    "an unknown reason for stopping": "send(header(id=outstanding(), stopped='<b>by the grader</b>'))",
    "a reason that is not a text": "send(header(id=outstanding(), stopped=['time']))",
    "an incomplete exception": "send(header(id=outstanding(), raised=['A']))",
    "an exception whose line is not a number": "send(header(id=outstanding(), raised=['A', 'b', '<cell mine>', '1']))",
    "a verdict": "send(header(id=outstanding(), points=100))",
}


def test_a_malformed_reply_stops_the_function_that_sent_it(submit):
    names = [f"forge_{i}" for i in range(len(FORGERIES))]
    bodies = [f"def {name}():\n    {body}\n    wait()\n" for name, body in zip(names, FORGERIES.values(), strict=True)]
    result = submit(TOOLS + "".join(bodies), *names, "good")
    outcomes = dict(zip(FORGERIES, result.outcomes, strict=False))
    assert {forgery: outcome.stopped for forgery, outcome in outcomes.items()} == dict.fromkeys(
        FORGERIES, NOT_AN_ANSWER
    )
    assert result.outcomes[-1].value is not None


def test_an_input_without_a_digest_counts_as_modified(bundle):
    cell = Cell("f", f"{TOOLS}\ndef f(x):\n    send(header(id=outstanding(), digests={{'y': '0'}}))\n    wait()\n")
    result = run([cell], [Call("f", {"x": X})], bundle=bundle, limits=PATIENT)
    assert result.outcomes[0].value == 1.5 and result.outcomes[0].modified == ("x",)


def test_a_process_that_dies_after_its_reply_has_not_answered(submit):
    result = submit(f"{TOOLS}\ndef f():\n    send(header(id=outstanding()))\n    os._exit(0)", "f", "good")
    assert result.outcomes[0].stopped == "ended the Python process (exit status 0)"
    assert result.outcomes[1].value is not None


def test_a_second_reply_withdraws_the_first(submit):
    result = submit(f"{TOOLS}\ndef f():\n    send(header(id=outstanding()))\n    return 1", "f", "good")
    assert result.outcomes[0].stopped == NOT_AN_ANSWER and result.outcomes[1].value is not None


def test_more_bytes_in_the_same_write_withdraw_the_reply(submit):
    result = submit(f"{TOOLS}\ndef f():\n    send(header(id=outstanding()), b'x')\n    wait()", "f", "good")
    assert result.outcomes[0].stopped == NOT_AN_ANSWER and result.outcomes[1].value is not None


def test_a_late_second_reply_stops_the_function_that_it_belongs_to(submit):
    source = f"""{TOOLS}
def f():
    mine = header(id=outstanding())
    descriptor = runner().replies
    data = json.dumps(mine).encode()
    threading.Timer(0.3, os.write, (descriptor, struct.pack(">I", len(data)) + data)).start()
    return 1

def slow():
    time.sleep(0.6)
    return 2
"""
    result = submit(source, "f", "slow")
    assert result.outcomes[0].stopped == NOT_AN_ANSWER and result.outcomes[1].value == 2


def test_replies_sent_in_advance_are_not_accepted(submit):
    source = f"{TOOLS}\ndef f():\n    for _ in range(50):\n        send(header(id=outstanding()))\n    return 1"
    result = submit(source, "f", "good", "f", "good")
    assert [o.stopped for o in result.outcomes] == [NOT_AN_ANSWER, "", NOT_AN_ANSWER, ""]


def test_a_cell_that_writes_to_the_channel_is_stopped(submit):
    result = submit(f"{TOOLS}\nsend(header())", "good")
    assert result.cells["mine"] == NOT_AN_ANSWER and result.outcomes[0].value is not None


@pytest.mark.parametrize("descriptors", ["runner().replies", "runner().requests", "range(64)"])
def test_closing_descriptors_stops_the_function(ask, descriptors):
    source = f"""{TOOLS}
def f():
    which = {descriptors}
    for descriptor in [which] if isinstance(which, int) else which:
        try:
            os.close(descriptor)
        except OSError:
            pass
    return 1
"""
    outcome = ask(source, "f")
    assert outcome.value is None and outcome.stopped.startswith(("ended the Python process", NOT_AN_ANSWER))


def test_filling_its_own_request_pipe_stops_the_function(ask):
    source = f"""{TOOLS}
def f():
    mine = runner()
    fill = os.open(f"/proc/self/fd/{{mine.requests}}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        for _ in range(100):
            os.write(fill, b"x" * 4096)
    except BlockingIOError:
        pass
    return 1
"""
    outcome = ask(source, "f")
    assert outcome.value is None and outcome.stopped.startswith(("ended the Python process", NOT_AN_ANSWER))


def test_patches_in_the_sandbox_do_not_reach_the_grader(submit):
    source = f"""{TOOLS}
import numpy
class Liar(float):
    def __eq__(self, other): return True
numpy.array_equal = numpy.allclose = lambda *a, **k: True
numpy.testing.assert_allclose = lambda *a, **k: None
def f():
    sys.modules['check.calling'].run = lambda function, inputs: 1 / 0
    return Liar(3)
"""
    result = submit(source, "f")
    assert type(result.outcomes[0].value).__name__ == "Foreign"


def test_blaming_the_previous_call_gains_nothing(submit):
    # It fills the pipe of requests and dies, as if it had not read its own request. The grader then blames the previous
    # call, which is of the same notebook. The function that died still has no value.
    source = FIND_CHANNEL + (
        "def f():\n    with open(f'/proc/self/fd/{runner().requests}', 'wb', 0) as pipe:\n        pipe.write(b'x')\n"
        "    os._exit(0)\n"
    )
    result = submit(source, "good", "f", "f", "good")
    assert [outcome.value for outcome in result.outcomes[1:3]] == [None, None]
    assert all(outcome.stopped or outcome.raised for outcome in result.outcomes[1:3])
    assert len(result.outcomes) == 4 and result.notes
