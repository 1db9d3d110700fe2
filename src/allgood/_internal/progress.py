"""Show progress on a terminal: bar, rate, time left.  Nothing is shown elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnProgress = Callable[[int, int], None]  # called with the number finished and the number of all


@contextmanager
def progress_bar(title: str, unit: str = "runs") -> Iterator[OnProgress]:
    """Show a bar; yield a function to call with the number finished and the number of all."""
    if not sys.stderr.isatty():
        yield lambda number, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            if not task.completed or not task.elapsed or task.total is None:
                return Text("")
            rate = task.completed / task.elapsed
            rest = "" if task.finished else f", {(task.total - task.completed) / rate:,.0f} s left"
            return Text(f"{rate:,.1f} {unit}/s{rest}", style="dim")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.completed:,.0f}} of {{task.total:,.0f}} {unit}"),
        TimeElapsedColumn(),
        Rate(),
    )
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(title, total=None, visible=False)

        def report(number: int, total: int) -> None:
            shown.update(task, completed=number, total=total, visible=True)

        yield report
