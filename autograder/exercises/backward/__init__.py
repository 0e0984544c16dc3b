"""Chapter 2, the backward pass: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "numerical_gradient",
    "linear_backward",
    "softmax_backward",
    "attention_backward",
    "self_attention_backward",
    "predicted_backward_shapes",
    "repaired_bilinear_backward",
)
