"""Make the fonts of the book and of the feedback pages."""
