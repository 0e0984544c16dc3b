"""Exercises of chapter 2, the backward pass, one in each file."""
