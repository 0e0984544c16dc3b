"""A course folder, as far as it can be read without nbgrader."""
