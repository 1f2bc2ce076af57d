"""Policy `pinned` with real pools."""

import pytest

from gateway.models import Ask
from gateway.routing import ROLES, Reason, Role, other
from tests.models.fleet import config, make, take, where


@pytest.mark.parametrize("role", ROLES)
def test_all_go_to_the_policys_pool_unless_the_request_names_one(role: Role) -> None:
    model = make(config(kind="pinned", pool=role))
    assert where(take(model)) == (role, Reason.PINNED)
    assert where(take(model, Ask(pinned=other(role)))) == (other(role), Reason.PINNED)
