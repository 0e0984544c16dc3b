"""Turn chapters into what students get: notebooks, bundles, and the gate that refuses leaks."""

from autograder.layout import do_without_address_checks

do_without_address_checks()
