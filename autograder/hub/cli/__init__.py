"""The commands of this room, for the command line."""

from autograder.hub.cli import passback, watch

COMMANDS = {"watch": watch, "passback": passback}
