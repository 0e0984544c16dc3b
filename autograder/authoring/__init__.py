"""What an author of exercises works with: exercises, the keys made from them, and the table that grades both."""
