"""All that touches nbgrader's gradebook: what is asked of it, and the one writer."""
