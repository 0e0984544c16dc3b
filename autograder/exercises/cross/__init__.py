"""Chapter 7, cross-attention and the decoder layer: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "cross_attention",
    "cross_attention_backward",
    "multi_head_cross_attention",
    "multi_head_cross_attention_backward",
    "predicted_cross_shapes",
    "decoder_layer",
    "decoder_layer_backward",
    "repaired_decoder_norms",
)
