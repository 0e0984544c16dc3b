"""Pages and tables for students and instructors: feedback, the class report, kill tables, tables in a terminal."""
