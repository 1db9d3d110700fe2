"""The change feed: streams that end at any moment leave it as it was."""

import asyncio
import contextlib

from allgood.serve.feed import ChangeFeed


def test_streams_may_end_at_any_moment():
    """Cancelled while the lock is held by another, or in the moment of a timeout, or twice."""

    async def run():
        feed = ChangeFeed(lambda wanted: dict.fromkeys(wanted, 0))
        feed.subscribe(1)
        failures = []
        for i in range(300):
            waiting = [asyncio.create_task(feed.newer(1, 0, 0.0005 * (i % 4))) for _ in range(4)]
            waiting.append(asyncio.create_task(feed.changes({}, 0.0005 * (i % 3))))
            await asyncio.sleep(0.0005 * (i % 3))
            async with feed._changed:  # so that those that end must wait for the lock
                feed._changed.notify_all()
                for task in waiting:
                    task.cancel()
                await asyncio.sleep(0)
                for task in waiting:
                    task.cancel()
            found = await asyncio.gather(*waiting, return_exceptions=True)
            failures += [error for error in found if isinstance(error, RuntimeError)]
        await asyncio.wait_for(feed.end(), 10.0)
        feed.unsubscribe(1)
        with contextlib.suppress(asyncio.CancelledError):
            await feed._task
        assert failures == []

    asyncio.run(run())
