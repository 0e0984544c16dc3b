"""Make the cases of the PyTorch modules in chapter 8."""

import torch

# For arrays as small as these, waiting for a second thread takes longer than the computation.
torch.set_num_threads(1)

LAYER = {"d_model": 8, "n_heads": 2, "d_ff": 11}


def asked_of(module_class, draw, arguments, inputs):
    """Return a case: the constructor's arguments, random weights, and the arguments of the call."""
    state = module_class(**arguments).state_dict()
    drawn = {name: 0.5 * draw.normal(*tensor.shape) for name, tensor in state.items()}
    return {"arguments": arguments, "weights": drawn, "inputs": inputs}
