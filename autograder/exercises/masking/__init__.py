"""Exercises of chapter 3, masking, one in each file."""
