"""What holds the counts moves to other nodes of a cluster while many clients ask: nobody notices."""

import asyncio

from tests.shared.fleet import Fleet, fleet
from tests.shared.topologies import Hole, Move, cluster, lone_node, myself, owner, silence
from tests.shared.work import at_work
from tests.support.redis import RedisServer, section
from tests.support.threads import EngineThread

KEY = "spillway:{fake}:counts"


async def test_a_cluster_moves_a_slot_is_down_and_loses_the_node(engine_thread: EngineThread) -> None:
    with cluster(spares=1) as nodes:
        *masters, spare = nodes
        first = owner(masters, KEY)
        second, third = [node for node in masters if node is not first]
        async with at_work(engine_thread, section(*nodes, mode="cluster"), nodes) as here:
            with spare.client() as client:
                client.execute_command("CLUSTER", "REPLICATE", myself(second))
            move = Move(masters, KEY, first, second)
            await asyncio.to_thread(move.begin)
            await here.failing("ASK", "TRYAGAIN")
            await asyncio.to_thread(move.end)
            await _at(here, second)
            hole = Hole(nodes, third)
            await asyncio.to_thread(hole.make)
            await here.failing("CLUSTERDOWN")
            await asyncio.to_thread(hole.fill)
            await _at(here, second)
            with spare.client() as client:
                await here.eventually(lambda: client.info("replication")["master_link_status"] == "up")
            await asyncio.to_thread(second.kill)
            await _at(here, spare)


async def test_nodes_that_say_nothing_are_passed_over(engine_thread: EngineThread) -> None:
    with lone_node() as node, silence(4) as silent:
        settings = {**section(node), "urls": [*silent, node.url]}
        quick = {"mode": "cluster", "timeout_seconds": 0.1}
        async with fleet(engine_thread, {**settings, **quick}, gateways=1, policy={"threshold": 2}) as here:
            await here.joined()
            assert [pool for pool, _ in await here.hold(3)] == ["speculative"] * 2 + ["baseline"]


async def _at(here: Fleet, server: RedisServer) -> None:
    address = f"{server.host}:{server.port}"
    await here.eventually(lambda: all(each.status()["redis"]["address"] == address for each in here.gateways), 30.0)
    await here.joined()
