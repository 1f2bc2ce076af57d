"""Makes a validated configuration of a file and the environment, or says everything that is wrong with them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from .document import UnusableYamlError, parse
from .errors import ConfigError, Problem, Source, dotted
from .schema import Config


@dataclass(frozen=True)
class Loaded:
    """A configuration, and the files it was made from (the configuration file first)."""

    config: Config
    sources: tuple[Source, ...]

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the configuration file's bytes, in hexadecimal."""
        return self.sources[0].digest


def load_config(path: Path, env: Mapping[str, str]) -> Loaded:
    """Reads and validates a configuration file.

    Raises:
        ConfigError: with every problem found.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", file=path)], [Source(path, None)]) from None
    source = Source(path, hashlib.sha256(content).hexdigest())
    try:
        document = parse(content.decode("utf-8-sig"))
        config = Config.model_validate(document.data)
    except UnicodeDecodeError:
        raise ConfigError([Problem("is not UTF-8 text", file=path)], [source]) from None
    except UnusableYamlError as error:
        raise ConfigError([Problem(error.reason, "", path, error.line, error.column)], [source]) from None
    except ValidationError as error:
        problems = [
            Problem(item["msg"], dotted(item["loc"]), path, document.line(item["loc"]))
            for item in error.errors(include_url=False)
        ]
        raise ConfigError(problems, [source]) from None
    return Loaded(config, (source,))
