"""Models by name: aliases, the order of the file, and models that a reload takes away."""

from gateway.models import Models
from gateway.routing import Refusal
from tests.models.fleet import ASK, Clock, Watch, config, fill, recover, take


def named(name: str, *aliases: str) -> Models:
    """One model with aliases, well."""
    models = Models(Watch(), Clock())
    models.reconfigure((config(name=name).model_copy(update={"aliases": aliases}),))
    for model in models:
        for pool in model.pools.values():
            recover(pool, *pool.replicas.values())
    return models


def test_names_and_aliases() -> None:
    models = named("m", "k", "k2")
    assert models.names == ["m", "k", "k2"]
    assert models.find("k2") is models.find("m") is models.sole()
    assert models.find("M") is None


def test_the_order_is_the_files() -> None:
    models = named("m")
    models.reconfigure((config(name="a"), config(name="m"), config(name="b")))
    assert [model.config.name for model in models] == ["a", "m", "b"]
    assert len(models) == 3
    assert models.sole() is None


def test_a_model_keeps_its_requests_over_a_reload() -> None:
    models = named("m")
    model = models.find("m")
    assert model is not None
    grant = take(model)
    models.reconfigure((config(name="m", threshold=7).model_copy(update={"aliases": ("new",)}),))
    assert models.find("new") is model
    assert model.inflight == 1
    grant.lease.release()


def test_a_model_taken_away_finishes_what_it_has() -> None:
    models = named("m", "k")
    model = models.find("m")
    assert model is not None
    grant = take(model)
    models.reconfigure((config(name="other"),))
    assert models.find("m") is models.find("k") is None
    assert [each.config.name for each in models] == ["other"]
    assert models.with_requests() == [*models, model]
    assert model.admit(ASK) is Refusal.DOWN
    assert not model.serves()
    grant.lease.release()
    assert models.with_requests() == [*models]
    models.reconfigure((config(name="m"),))
    assert models.find("m") is not model  # it was done with when its last request ended


def test_a_model_that_comes_back_counts_what_still_runs() -> None:
    models = named("m")
    model = models.find("m")
    assert model is not None
    grants = [take(model) for _ in range(5)]
    models.reconfigure((config(name="other"),))
    models.reconfigure((config(name="m"),))
    assert models.find("m") is model
    baseline = model.pools["baseline"]
    recover(baseline, *baseline.replicas.values())
    assert take(model).pool.role == "baseline", "five are still in flight"
    for grant in grants:
        grant.lease.release()
    assert take(model).pool.role == "speculative"


def test_a_model_that_comes_back_idle_starts_anew() -> None:
    models = named("m")
    old = models.find("m")
    models.reconfigure((config(name="other"),))
    models.reconfigure((config(name="m"),))
    assert models.find("m") is not old


def test_who_waits_for_a_model_is_refused_when_it_is_taken_away() -> None:
    """One that comes back under the name is another, which they would wait for in vain."""
    models = Models(Watch(), Clock())
    models.reconfigure((config(name="m", threshold=1, max_inflight=1),))
    model = models.find("m")
    assert model is not None
    for pool in model.pools.values():
        recover(pool, *pool.replicas.values())
    held, woken = fill(model), list[str]()
    waiting = model.wait(ASK, lambda: woken.append("a"))
    models.reconfigure((config(name="other"),))
    assert (waiting.refused, waiting.grant, woken) == (True, None, ["a"])
    assert len(model.queue) == 0
    assert model.admit(ASK) is Refusal.DOWN, "nobody joins the queue after that"
    for grant in held:
        grant.lease.release()
    assert waiting.leave() is None


def test_a_name_may_become_an_alias() -> None:
    models = named("m")
    models.reconfigure((config(name="n").model_copy(update={"aliases": ("m",)}),))
    model = models.find("m")
    assert model is not None
    assert model.config.name == "n"
