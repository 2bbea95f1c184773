"""Stage 6, whole: estimators, one file or one folder for each method or family."""

from quietgraph.methods.base.cache import Embedded, EmbeddingCache, use_cache
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.registry import METHODS, get_method, method_name, register
from quietgraph.methods.storage import load_model

__all__ = [
    "METHODS",
    "Decision",
    "Embedded",
    "EmbeddingCache",
    "Fitted",
    "NodeClassifier",
    "Task",
    "get_method",
    "load_model",
    "method_name",
    "register",
    "use_cache",
]
