"""Models: policy, pools and admission behind one name."""

from gateway.models.model import Ask, Grant, Model
from gateway.models.registry import Models

__all__ = ["Ask", "Grant", "Model", "Models"]
