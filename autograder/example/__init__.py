"""A class to try grading with."""
