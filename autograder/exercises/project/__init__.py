"""Chapter 10, letters and sounds: its exercises, each in a file of its own."""
