"""Chapter 1, attention: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "softmax",
    "attention_weights",
    "attention",
    "self_attention",
    "predicted_shapes",
    "repaired_attention",
)
