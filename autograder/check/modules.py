"""How an exercise that is a PyTorch module is asked: build it, give it weights, call it.

The weights come with the case, so that two modules of the same parts must agree on every number.
"""

import numpy as np


def build_and_call(module_class, arguments, weights, inputs):
    """Build a module in float64, load weights by name, and call it in evaluation mode.

    Args:
        module_class: a subclass of torch.nn.Module.
        arguments: dict, keyword arguments of its constructor.
        weights: dict, parameter name -> array, as in its state_dict.
        inputs: list of arrays, or None, the positional arguments of the call.

    Returns:
        The output as an array; if the module returns several, a tuple of arrays.

    Raises:
        RuntimeError: names or shapes of the module's parameters are not those of `weights`.
    """
    import torch  # only these exercises need it, and it takes a second to import

    module = module_class(**arguments).double().eval()
    module.load_state_dict({name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()})
    tensors = [None if array is None else torch.from_numpy(np.array(array)) for array in inputs]
    with torch.no_grad():
        output = module(*tensors)
    return tuple(_array(part) for part in output) if isinstance(output, tuple) else _array(output)


def _array(part):
    return part.numpy() if hasattr(part, "numpy") else part
