"""From chapters to what students get: notebooks, bundles, and the gate they pass."""

from autograder.house import do_without_address_checks

do_without_address_checks()
