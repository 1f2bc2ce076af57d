"""All rules, in the order in which an operator would go about them."""

from collections.abc import Iterator

from spillway_engine.node import Node
from spillway_engine.render import Launch
from spillway_engine.rules import collectives, files, machine, speculation
from spillway_engine.rules.finding import Finding


def examine(launch: Launch, node: Node | None) -> list[Finding]:
    """What is wrong with a launch on a node; without a node, what is wrong with it anywhere on its architecture."""
    return list(_findings(launch, node))


def _findings(launch: Launch, node: Node | None) -> Iterator[Finding]:
    yield from speculation.findings(launch)
    yield from collectives.findings(launch)
    if node is not None:
        yield from machine.findings(launch, node)
        yield from files.findings(launch)
