"""Chapter 11, five changes since 2017: its exercises, each in a file of its own."""
