"""Keep the memory that NumPy frees: getting it from the kernel again takes longer than most of our computations."""

import numpy as np

LARGEST = 31 << 20  # bytes; above 32 MB, glibc changes nothing


def keep_freed_memory() -> None:
    """Make this process keep twice LARGEST bytes of freed memory, where the C library is glibc.

    glibc keeps twice as much as the largest array that it has given back to the kernel.
    """
    np.zeros(LARGEST, np.uint8)
