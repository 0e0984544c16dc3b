"""The instructor's pages about a graded class: their data, the counts, the figures and the HTML."""
