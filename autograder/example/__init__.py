"""An example class to try grading with."""
