"""All that touches nbgrader's gradebook: what is asked of it, and the one writer."""

from autograder.house import do_without_address_checks

do_without_address_checks()
