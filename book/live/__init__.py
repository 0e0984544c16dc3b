"""Let a reader write, run and check code in a page of the book."""
