"""Everything that touches nbgrader: the questions to its gradebook, and the one writer of scores."""

from autograder.layout import do_without_address_checks

do_without_address_checks()
