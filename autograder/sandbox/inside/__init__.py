"""What runs inside the sandbox, beside the student's code. It needs `check` and nothing else of ours."""
