"""The package that runs inside the sandbox, together with the student's code. Of our code it imports only `check`."""
