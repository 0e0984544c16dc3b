"""What people read: feedback, the class report, kill tables, and tables in a terminal."""
