"""Nothing that arrives from another machine runs code here, in whichever way Dask unpickles it."""

import os
import pickle
import warnings
from contextlib import suppress

import pytest
from distributed import client, protocol
from distributed.core import clean_exception

from autograder.grading.unpickling import NotUnpickled, data_only

pytestmark = pytest.mark.grading


class Hostile:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def result(hostile):
    protocol.deserialize({"serializer": "pickle", "writeable": ()}, [pickle.dumps(hostile)])


def type_of_result(hostile):
    protocol.deserialize({"serializer": "dask", "type-serialized": pickle.dumps(hostile), "sub-header": {}}, [b""])


def message(hostile):
    protocol.loads(list(protocol.dumps({"op": protocol.ToPickle(hostile)})))


def old_protocol(hostile):
    protocol.pickle.loads(pickle.dumps(hostile, 0))


def type_of_future(hostile):
    client.loads(pickle.dumps(hostile))


def warning(hostile):
    with warnings.catch_warnings(action="ignore"):
        client._handle_warn((0, {"message": pickle.dumps(hostile)}))


@pytest.mark.parametrize("unpickle", [result, type_of_result, message, old_protocol, type_of_future, warning])
def test_a_pickle_that_runs_code_is_refused(unpickle, tmp_path):
    with data_only(), pytest.raises(NotUnpickled, match=r"posix\.mkdir"):
        unpickle(Hostile(tmp_path / "made"))
    assert not (tmp_path / "made").exists()
    with suppress(AttributeError):  # without the guard it works, or fails too late
        unpickle(Hostile(tmp_path / "made"))
    assert (tmp_path / "made").exists()


def test_exceptions_and_tracebacks_are_not_unpickled(tmp_path):
    hostile = pickle.dumps(Hostile(tmp_path / "made"))
    with data_only():
        _, exception, traceback = clean_exception(hostile, hostile)
    assert exception.args == (hostile,) and traceback is None
    assert not (tmp_path / "made").exists()


def test_bytes_and_plain_data_are_unpickled():
    header, frames = protocol.serialize(b"report")
    with data_only():
        assert protocol.deserialize(header, frames) == b"report"
        assert pickle.loads(pickle.dumps({"a": [1, None, "b"]})) == {"a": [1, None, "b"]}


def test_pickles_are_refused_until_the_outermost_guard_ends():
    pickled = pickle.dumps(Hostile)
    with data_only():
        with data_only():
            pass
        with pytest.raises(NotUnpickled):
            pickle.loads(pickled)
    assert pickle.loads(pickled) is Hostile
