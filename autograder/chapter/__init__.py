"""A chapter as it was written: its cells, its Markdown, and what can be pointed at."""
