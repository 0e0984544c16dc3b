"""Chapter 5, residual connections and layer normalisation: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "feed_forward",
    "feed_forward_backward",
    "layer_norm",
    "layer_norm_backward",
    "dropout",
    "dropout_backward",
    "add_norm",
    "add_norm_backward",
    "encoder_layer",
    "encoder_layer_backward",
    "repaired_pre_norm_encoder",
)
