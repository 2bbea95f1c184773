"""What all tests share: one thread, so that parallel tests do not fight over cores."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
