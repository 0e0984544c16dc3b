"""Scores sent to a learning platform with LTI's Assignment and Grade Services."""
