"""Chapter 3, masking: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "causal_mask",
    "padding_mask",
    "target_mask",
    "memory_mask",
    "predicted_mask_shapes",
    "masked_softmax",
    "masked_attention",
    "masked_attention_backward",
    "leaks",
    "repaired_masked_self_attention",
)
