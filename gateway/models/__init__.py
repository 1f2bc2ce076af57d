"""Models: policy, pools and admission behind one name."""

from gateway.models.asking import Asking
from gateway.models.explaining import crossover, explain
from gateway.models.grant import Grant
from gateway.models.model import Model
from gateway.models.placing import Ask
from gateway.models.registry import Models
from gateway.models.stay import Stay

__all__ = ["Ask", "Asking", "Grant", "Model", "Models", "Stay", "crossover", "explain"]
