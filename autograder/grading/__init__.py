"""From a submitted file's bytes to its report, without nbgrader."""
