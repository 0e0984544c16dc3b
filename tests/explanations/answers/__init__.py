"""Wrong and right answers, of which each module adds some to the registry."""
