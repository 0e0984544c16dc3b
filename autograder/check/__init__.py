"""What students get, whole: `check`, the judge behind it and the words it speaks. It needs NumPy alone."""
