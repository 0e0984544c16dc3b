"""What the exercises of chapter 8 in PyTorch share: the cases of a module."""

import torch

# For arrays as small as these, waiting for a second thread takes longer than the computation.
torch.set_num_threads(1)

LAYER = {"d_model": 8, "n_heads": 2, "d_ff": 11}


def asked_of(module_class, draw, arguments, inputs):
    """A case: the constructor's arguments, weights of which none is fresh, and what the module is called with."""
    state = module_class(**arguments).state_dict()
    drawn = {name: 0.5 * draw.normal(*tensor.shape) for name, tensor in state.items()}
    return {"arguments": arguments, "weights": drawn, "inputs": inputs}
