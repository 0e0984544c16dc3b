"""Which attempt of a student counts: a setting in nbgrader_config.py."""

from traitlets import Enum, TraitError
from traitlets.config import Config, Configurable

from autograder.errors import UserError


class Attempts(Configurable):
    """Which of a student's graded attempts counts: c.Attempts.counts in nbgrader_config.py."""

    counts = Enum(["last", "best"], "last", help="the last one, or the one with the highest score").tag(config=True)


def which_counts(config: Config) -> str:
    """Return "last" or "best". Raises UserError if the configuration says anything else."""
    try:
        return Attempts(config=config).counts
    except TraitError as error:
        raise UserError(f'c.Attempts.counts in nbgrader_config.py must be "last" or "best": {error}') from error
