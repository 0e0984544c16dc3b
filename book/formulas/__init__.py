"""The book's formulas as HTML, rendered once by MathJax in Node and stored in the repository."""
