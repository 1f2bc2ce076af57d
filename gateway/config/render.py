"""A configuration written back as YAML."""

import yaml

from .document import CORE_RESOLVERS
from .schema import Config

MASK = "***"


class _Dumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would read as something else."""


for _tag, _pattern, _first in CORE_RESOLVERS:
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def effective_yaml(config: Config) -> str:
    """Writes every field with its value, defaults included, in the schema's order; secrets become `***`."""
    data = config.model_dump(mode="json")
    data["auth"]["keys"] = [MASK for _ in data["auth"]["keys"]]
    for model in data["models"]:
        for pool in model["pools"].values():
            if pool is not None and pool["api_key"] is not None:
                pool["api_key"] = MASK
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
