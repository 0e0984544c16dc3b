"""The instructor's pages about a graded class: what they are made from, what is counted, and how it looks."""
