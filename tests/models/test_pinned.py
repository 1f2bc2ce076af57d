"""Policy `pinned` with real pools."""

import pytest

from gateway.models import Ask
from gateway.routing import ROLES, Reason, Role, other
from tests.models.fleet import ASK, config, make, recover, take, where


@pytest.mark.parametrize("role", ROLES)
def test_all_go_to_the_policys_pool_unless_the_request_names_one(role: Role) -> None:
    model = make(config(kind="pinned", pool=role))
    assert where(take(model)) == (role, Reason.PINNED)
    assert where(take(model, Ask(pinned=other(role)))) == (other(role), Reason.PINNED)


def test_it_expects_replicas_of_its_pool_alone() -> None:
    model = make(config(kind="pinned", pool="baseline"), well=False)
    assert model.expects(ASK)
    recover(model.pools["baseline"], *model.pools["baseline"].replicas.values())
    assert model.pools["speculative"].expecting
    assert not model.expects(ASK)
    assert model.expects(ASK._replace(pinned="speculative"))
