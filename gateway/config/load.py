"""Makes a validated configuration of a file and the environment, or says everything that is wrong with them."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from . import files
from .crosscheck import contradictions
from .document import Document, UnusableYamlError, parse
from .errors import ConfigError, Loc, Problem, Source, dotted
from .messages import explained
from .misspelt import within_misspelt
from .overrides import Overridden, overridden
from .schema import Config
from .shape import replaced, values
from .strays import strays

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Loaded:
    """A configuration and what it was made from.

    `digest` is the SHA-256 of the configuration file's bytes in hexadecimal. `client_keys` are the keys of `auth.keys`
    and of the keys file together. `sources` are the files that were read, the configuration file first. `warnings` say
    what is allowed and seldom meant.
    """

    config: Config
    digest: str
    client_keys: tuple[str, ...] = field(repr=False)
    sources: tuple[Source, ...]
    warnings: tuple[str, ...] = ()


def load_config(path: Path, env: Mapping[str, str]) -> Loaded:
    """Reads a configuration file, lays the environment's overrides over it and validates the whole.

    Relative paths in it are taken from its folder, and `${NAME}` in place of a key from `env`.

    Raises:
        ConfigError: with every problem found; nothing of the configuration may be used.
    """
    return _Loading(path, env).run()


class _Loading:
    """One load: gathers problems and sources on its way."""

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        self._path = path
        self._env = env
        self._problems: list[Problem] = []
        self._sources: dict[Path, Source] = {path: Source(path, None)}
        self._keys: tuple[str, ...] = ()
        self._referenced: set[str] = set()
        self._document = Document(None, None, ())
        self._overridden = Overridden(None, {}, ())

    def run(self) -> Loaded:
        content = self._content()
        self._document = self._parsed(content)
        self._overridden = overridden(self._document.data, self._env)
        self._problems += self._overridden.problems
        config = self._validated(self._with_files(self._with_secrets(self._overridden.data)))
        if config is not None and not self._problems:
            self._add(files.unusable_certificates(config))
        if config is None or self._problems:
            raise self._error()
        keys = tuple(dict.fromkeys((*config.auth.keys, *self._keys)))
        warnings = (*config.warnings(), *strays(self._env, self._referenced))
        return Loaded(config, hashlib.sha256(content).hexdigest(), keys, tuple(self._sources.values()), warnings)

    def _error(self, *fatal: Problem) -> ConfigError:
        problems = sorted((*self._problems, *fatal), key=lambda it: (it.variable or "", it.line or 0, it.column or 0))
        return ConfigError(problems, tuple(self._sources.values()))

    def _content(self) -> bytes:
        try:
            content, self._sources[self._path] = files.read(self._path, streams=True)
        except files.UnreadableError as error:
            raise self._error(Problem(str(error), file=self._path)) from None
        return content

    def _parsed(self, content: bytes) -> Document:
        try:
            document = parse(content.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            reason = f"is not UTF-8 text (byte {content[error.start]:#04x}): save it as UTF-8"
            raise self._error(Problem(reason, file=self._path, line=line)) from None
        except UnusableYamlError as error:
            problem = Problem(error.reason, file=self._path, line=error.line, column=error.column)
            raise self._error(problem) from None
        self._problems += (replace(problem, file=self._path) for problem in document.problems)
        if document.root is None:
            raise self._error(Problem("is empty: list at least one model under 'models:'", file=self._path))
        if not isinstance(document.data, dict):
            given = "a list" if isinstance(document.data, list) else "a single value"
            reason = f"must be a mapping of fields, such as 'models:', not {given}"
            raise self._error(Problem(reason, file=self._path, line=document.line(())))
        return document

    def _with_secrets(self, data: object) -> object:
        """Puts the environment's values in the place of `${NAME}`."""
        for loc, value, shape in values(data):
            if not (shape.is_secret and isinstance(value, str) and "${" in value):
                continue
            if (reference := _REFERENCE.fullmatch(value)) is None:
                self._add([(loc, "must be the key itself or ${NAME} alone, without text around it")])
                continue
            self._referenced.add(reference[1])
            # Kubernetes secrets made from files often end in a line break, which no key does.
            secret = self._env.get(reference[1], "").strip()
            if not secret:
                self._add([(loc, f"the environment variable {reference[1]} is not set or is empty: set it")])
            data = replaced(data, loc, secret)
        return data

    def _with_files(self, data: object) -> object:
        """Makes paths absolute and reads what they name, so that a change of it is seen as a change of the whole."""
        for loc, value, shape in values(data):
            if not (shape.is_path and isinstance(value, str)):
                continue
            path = self._path.parent.absolute() / value
            data = replaced(data, loc, str(path))
            self._sources.setdefault(path, Source(path, None))
            try:
                content, self._sources[path] = files.read(path)
                if loc == ("auth", "keys_file"):
                    self._keys = files.keys_in(content)
            except files.UnreadableError as error:
                self._add([(loc, f"{str(path)!r} {error}")])
        return data

    def _validated(self, data: object) -> Config | None:
        try:
            return Config.model_validate(data)
        except ValidationError as error:
            self._add(explained(error, data))
            self._add(contradictions(data))
            self._add(within_misspelt(data))
            return None

    def _add(self, found: Iterable[tuple[Loc, str]]) -> None:
        """Keeps what is found, unless the field's value is known to be wrong for a reason that comes before."""
        known = {problem.field for problem in self._problems}
        self._problems += (self._located(loc, reason) for loc, reason in found if dotted(loc) not in known)

    def _located(self, loc: Loc, reason: str) -> Problem:
        """Blames the variable that set the field, else the line that holds the field or would have to."""
        name = dotted(loc)
        if (variable := self._overridden.variable(loc)) is not None:
            return Problem(reason, name, variable=variable)
        for end in range(len(loc), -1, -1):
            if (line := self._document.line(loc[:end])) is not None:
                return Problem(reason, name, self._path, line)
            if (variable := self._overridden.variable_within(loc[:end])) is not None:
                return Problem(reason, name, variable=variable)
        return Problem(reason, name, self._path)
