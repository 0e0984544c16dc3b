"""Learning platforms: what they hand out, and the tables they take."""
