"""Chapter 7, cross-attention and the decoder layer: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "cross_attention",
    "predicted_cross_shapes",
    "cross_attention_backward",
    "multi_head_cross_attention",
    "multi_head_cross_attention_backward",
    "decoder_layer",
    "decoder_layer_backward",
    "repaired_decoder_norms",
)
