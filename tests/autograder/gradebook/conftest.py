"""What several tests of the gradebook use."""

import pytest

from autograder.cli.main import main


@pytest.fixture
def run(course, capsys):
    """run("due", ...) -> exit code and output of a command in the course."""

    def command(*words):
        code = main([*words, "--course", str(course)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return command
