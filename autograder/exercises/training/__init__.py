"""Chapter 9, training: its exercises, each in a file of its own, in their order."""

EXERCISES = (
    "smooth_labels",
    "predicted_losses",
    "smoothed_cross_entropy",
    "smoothed_cross_entropy_backward",
    "noam_learning_rate",
    "adam_step",
    "exact_match",
    "train_step",
    "repaired_padded_loss",
)
