"""The `autograder` command: each subcommand has a file of its own."""
