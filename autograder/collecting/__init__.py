"""Bring submissions and rosters from a learning platform into a course folder, and take feedback back."""
