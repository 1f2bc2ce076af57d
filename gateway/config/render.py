"""A configuration written back as YAML."""

import yaml

from .document import CORE_RESOLVERS
from .schema import Config
from .shape import replaced, values

MASK = "***"


class _Dumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would read as something else, and indents lists."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)


for _tag, _pattern, _first in CORE_RESOLVERS:
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def effective_yaml(config: Config) -> str:
    """Writes every field with its value, defaults included, in the schema's order; secrets become `***`.

    Loading the text gives an equal configuration, but for the secrets.
    """
    data: object = config.model_dump(mode="json")
    for loc, value, shape in values(data):
        if shape.is_secret and value is not None:
            data = replaced(data, loc, MASK)
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
