"""Read a chapter: its cells, its MyST Markdown, its exercises' cards, and the targets of its links."""
