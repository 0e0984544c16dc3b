"""Which attempt of a student counts: settings in nbgrader_config.py."""

from traitlets import Enum, Integer, TraitError
from traitlets.config import Config, Configurable

from autograder.errors import UserError


class Attempts(Configurable):
    """Which of a student's graded attempts counts: c.Attempts in nbgrader_config.py."""

    counts = Enum(["last", "best"], "last", help="the last one, or the one with the highest score").tag(config=True)
    limit = Integer(5, min=1, allow_none=True, help="the best of so many first attempts; None for any number").tag(
        config=True
    )


def which_counts(config: Config) -> str:
    """Return "last" or "best". Raises UserError if the configuration says anything else."""
    return _configured(config).counts


def attempt_limit(config: Config) -> int | None:
    """Return from how many attempts the best one is chosen, or None for any number. Raises UserError."""
    limit: int | None = _configured(config).limit
    return limit


def _configured(config: Config) -> Attempts:
    try:
        return Attempts(config=config)
    except TraitError as error:
        raise UserError(
            'c.Attempts.counts in nbgrader_config.py must be "last" or "best", and c.Attempts.limit a number from 1 '
            f"on, or None: {error}"
        ) from error
