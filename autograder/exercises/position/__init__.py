"""Chapter 6, position: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "sinusoidal_encoding",
    "shift_matrix",
    "embed",
    "predicted_squared_lengths",
    "embed_backward",
    "positional_embedding",
    "repaired_add_positions",
)
