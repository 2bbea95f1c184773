"""The device that a method computes on, refused at once where this machine does not have it."""

import torch

from quietgraph.errors import InvalidParameterError


def find_device(name: str) -> torch.device:
    """Return the device of a name such as auto, cpu, cuda or cuda:1.

    Args:
        name: `auto` takes the first GPU, or the CPU without one.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InvalidParameterError(
            f"device must be one that this machine has, got '{name}'. "
            "Use cpu, or auto, which takes a GPU where there is one."
        ) from error
    return device
