"""From chapters to what students get: notebooks, bundles, and the gate they pass."""
