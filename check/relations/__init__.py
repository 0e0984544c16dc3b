"""Describe how wrong values relate to the right ones ("twice what it should be") where no known mistake explains them.

A relation is reported only if it holds within rounding on every case with wrong values, and only for arrays with
different entries, since zeros satisfy any relation. The arrays of a tree, such as all parameters of a model, are
compared one by one, and scalars across cases. No sentence contains an expected value.

`relation.py` finds the sentence, `arrays.py` those about one array, and `labels.py` those about answers that are
neither arrays nor floats.
"""
