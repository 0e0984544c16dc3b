"""Release the chapters of "The Transformer by Hand", grade what students hand in, and export their scores."""
