"""Read and write the parts of a course folder that do not need nbgrader."""
