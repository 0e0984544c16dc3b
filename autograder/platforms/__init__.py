"""Canvas and Moodle: the names of the files in their downloads, and the tables they write and read."""
