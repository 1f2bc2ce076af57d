"""Who may do what: bearer tokens, and the rules of their bearers."""

from dataclasses import dataclass, field

from tests.kube.apiserver.errors import StatusError
from tests.kube.apiserver.resources import Resource

ADMIN = "admin-token"


@dataclass(frozen=True)
class Rule:
    """Verbs that are allowed on one kind in one namespace."""

    namespace: str
    plural: str
    verbs: frozenset[str]


@dataclass
class Access:
    """Tokens by bearer; the bearer of `ADMIN` may do everything."""

    bearers: dict[str, str] = field(default_factory=lambda: {ADMIN: "system:admin"})
    rules: dict[str, set[Rule]] = field(default_factory=dict)

    def issue(self, token: str, bearer: str) -> None:
        """Make a token valid."""
        self.bearers[token] = bearer

    def expire(self, token: str) -> None:
        """From now on it gets 401."""
        self.bearers.pop(token, None)

    def allow(self, bearer: str, namespace: str, plural: str, *verbs: str) -> None:
        """Add a rule."""
        self.rules.setdefault(bearer, set()).add(Rule(namespace, plural, frozenset(verbs)))

    def forbid(self, bearer: str) -> None:
        """Take all rules away."""
        self.rules.pop(bearer, None)

    def authenticate(self, header: str | None) -> str:
        """Who it is. Raises 401."""
        scheme, _, token = (header or "").partition(" ")
        bearer = self.bearers.get(token.strip())
        if scheme.lower() != "bearer" or bearer is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return bearer

    def authorize(self, bearer: str, verb: str, resource: Resource, namespace: str | None) -> None:
        """Raises 403."""
        if bearer == self.bearers.get(ADMIN):
            return
        for rule in self.rules.get(bearer, ()):
            if rule.namespace == namespace and rule.plural == resource.plural and verb in rule.verbs:
                return
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        raise StatusError(
            403,
            "Forbidden",
            f'{resource.qualified} is forbidden: User "{bearer}" cannot {verb} resource "{resource.plural}" in API '
            f'group "{resource.group}" {where}',
        )
