"""Between a learning platform and a course folder: submissions and rosters come in, feedback goes back."""
