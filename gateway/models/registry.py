"""The models that clients may name."""

from collections.abc import Callable, Iterator
from functools import partial

from gateway.config import ModelConfig
from gateway.load.shared import SharedCounts
from gateway.models.model import Model
from gateway.pools import Supervisor


class Models:
    """Models by name and alias. A model taken away is kept while it has requests, so that its counts stay right."""

    def __init__(self, supervisor: Supervisor, clock: Callable[[], float], shared: SharedCounts | None = None) -> None:
        """`clock` gives monotonic seconds; with `shared` several gateways count together."""
        self.shared = shared
        self._supervisor = supervisor
        self._clock = clock
        self._known: dict[str, Model] = {}
        self._by_name: dict[str, Model] = {}
        self._current: tuple[Model, ...] = ()

    def __iter__(self) -> Iterator[Model]:
        """The configured models, in the file's order."""
        return iter(self._current)

    def __len__(self) -> int:
        """How many models are configured."""
        return len(self._current)

    def with_requests(self) -> list[Model]:
        """The configured models, then those taken away whose streams still run."""
        retired = [model for model in self._known.values() if model not in self._current and model.inflight]
        return [*self._current, *retired]

    @property
    def names(self) -> list[str]:
        """Every name a client may ask for, aliases included."""
        return list(self._by_name)

    def find(self, name: str) -> Model | None:
        """The model with this name or alias."""
        return self._by_name.get(name)

    def sole(self) -> Model | None:
        """The only model, where there is one: requests that can't name a model go to it."""
        return self._current[0] if len(self._current) == 1 else None

    def reconfigure(self, configs: tuple[ModelConfig, ...]) -> None:
        """Take over the models of a validated configuration."""
        wanted = {config.name for config in configs}
        for name, model in list(self._known.items()):
            if name not in wanted:
                model.retire(partial(self._end, name, model))
        current: list[Model] = []
        by_name: dict[str, Model] = {}
        for config in configs:
            known = self._known.get(config.name)
            if known is None:
                known = self._known[config.name] = Model(config, self._supervisor, self._clock, self.shared)
            else:
                known.reconfigure(config)
            current.append(known)
            by_name |= dict.fromkeys((config.name, *config.aliases), known)
        self._current, self._by_name = tuple(current), by_name

    def _end(self, name: str, model: Model) -> None:
        if self._known.get(name) is model:
            del self._known[name]
            model.close()
