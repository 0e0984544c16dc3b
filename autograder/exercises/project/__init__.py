"""Exercises of chapter 10, letters and sounds, one in each file."""
