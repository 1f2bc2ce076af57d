"""A connection to a server."""

import asyncio

from gateway.load.shared.wire import Connection


async def test_replies_that_come_while_one_is_worked_on_come_after_it() -> None:
    """Whoever is answered goes on at once, and on its way looks whether others are too."""
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    loop, lost = asyncio.get_running_loop(), list[str]()
    _, connection = await loop.create_connection(lambda: Connection(lost.append), *silent.sockets[0].getsockname()[:2])
    order: list[object] = []

    def first(reply: object) -> None:
        order.append(f"{reply} begins")
        connection.data_received(b"+two\r\n+three\r\n")
        order.append(f"{reply} ends")

    for take in (first, order.append, order.append):
        connection.send(b"*1\r\n$4\r\nPING\r\n", take)
    connection.data_received(b"+one\r\n")
    assert order == ["one begins", "one ends", "two", "three"]
    assert lost == []
    connection.close()
    silent.close()
