"""Chapter 8, the full model: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "encode",
    "decode",
    "forward",
    "loss_and_gradients",
    "greedy_decode",
    "beam_search",
    "repaired_model_loss",
    "MultiHeadAttention",
    "EncoderLayer",
    "DecoderLayer",
    "Transformer",
)
