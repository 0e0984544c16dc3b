"""Scripts and Python that run in the reader's browser. A page gets this whole folder, except for this file."""
