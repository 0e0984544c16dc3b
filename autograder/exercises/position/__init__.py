"""Chapter 6, position: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "sinusoidal_encoding",
    "shift_matrix",
    "predicted_squared_lengths",
    "embed",
    "embed_backward",
    "positional_embedding",
    "repaired_add_positions",
)
