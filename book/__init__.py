"""Make the book: its HTML pages, its live exercises, and its PDF and EPUB."""
