"""Work off the screen's thread."""

import threading

from passlens.tui.jobs import Latest, Stale
from textual.app import App


async def test_requests_that_nobody_waits_for_any_more_are_skipped() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        begun, go_on, done, stale_seen = threading.Event(), threading.Event(), [], []

        def work(request: int, stale: Stale) -> None:
            assert threading.current_thread() is not threading.main_thread()
            begun.set()
            go_on.wait(10)
            stale_seen.append(stale())
            done.append(request)

        job: Latest[int] = Latest(app, "test", work, lambda error: None)
        job.ask(0)
        while not begun.is_set():
            await pilot.pause(0.01)
        for request in range(1, 6):
            job.ask(request)
        go_on.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert done == [0, 5]
        assert stale_seen == [True, False]
        assert not job.busy


async def test_a_fault_is_told_on_the_screens_thread_and_the_next_request_is_served() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        told, done = [], []

        def work(request: int, _: Stale) -> None:
            done.append(1 // request)

        def failed(error: Exception) -> None:
            assert threading.current_thread() is threading.main_thread()
            told.append(type(error))

        job: Latest[int] = Latest(app, "test", work, failed)
        job.ask(0)
        await app.workers.wait_for_complete()
        job.ask(1)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert told == [ZeroDivisionError] and done == [1]
