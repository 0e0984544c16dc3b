"""Turn the bytes of a submitted file into a report, without nbgrader."""
