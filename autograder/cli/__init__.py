"""The `autograder` command: each subcommand is a file."""
