"""The reference solutions: one module of small pure functions per chapter."""
