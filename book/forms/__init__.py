"""Make the book's other forms: a PDF and an EPUB."""
