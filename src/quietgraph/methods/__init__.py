"""Stage 5, whole: one file is one method is one estimator."""

from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.cache import EmbeddingCache, use_cache
from quietgraph.methods.registry import METHODS, get_method, method_name
from quietgraph.methods.storage import load_model
from quietgraph.methods.task import Fitted, Task
from quietgraph.methods.two_stage import TwoStageClassifier

__all__ = [
    "METHODS",
    "EmbeddingCache",
    "Fitted",
    "NodeClassifier",
    "Task",
    "TwoStageClassifier",
    "get_method",
    "load_model",
    "method_name",
    "use_cache",
]
