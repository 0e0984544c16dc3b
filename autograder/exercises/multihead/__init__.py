"""Chapter 4, multi-head attention: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "split_heads",
    "merge_heads",
    "multi_head_attention",
    "predicted_multi_head_shapes",
    "fused_projection",
    "multi_head_attention_backward",
    "repaired_fused_attention",
)
