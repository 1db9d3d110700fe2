"""Files of finished runs: a line of JSON that describes the simulation, then a line per run.

The runs are in any order.  A line is written when its run is finished.  A last line that was cut
off, by a crash or a full disk, is dropped.  One process at a time writes to the file; a lock of the
operating system excludes the others.
"""

import json
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any

Row = dict[str, Any]

# What it means that a digest in the first line is another.
DIGESTS = {
    "sources": "allgood was edited since",
    "strategy_code": "the strategy was edited since",
    "strategy_state": "the strategy holds other values than in",
    "world_code": "the environment was edited since",
    "world_state": "the environment holds other values than in",
}

if sys.platform == "win32":
    import msvcrt

    # Nobody else can read a byte that is locked, so lock one far beyond the end of the file.
    # Windows takes no higher position.
    FAR = (1 << 31) - 1

    def lock(file: IO[bytes]) -> bool:
        """Lock the file for this process until it is closed; return False if another process holds
        it.
        """
        file.seek(FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def lock(file: IO[bytes]) -> bool:
        """Lock the file for this process until it is closed; return False if another process holds
        it.
        """
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class RunFile:
    """A file of finished runs.  Open it with ``with``; ``rows`` holds the runs that it had."""

    def __init__(self, path: "str | os.PathLike[str]", header: Row) -> None:
        self.path = Path(path)
        self.header = json.loads(json.dumps(header))
        self.rows: list[Row] = []

    def __enter__(self) -> "RunFile":
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, row: Row) -> None:
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()

    def _lock(self) -> None:
        if not lock(self._file):
            raise ValueError(
                f"resume must name a file that no other process is writing: got {str(self.path)!r}."
            )

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        first = json.dumps(self.header).encode() + b"\n"
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and first.startswith(content):  # new, or cut off within the first line
            self._file.truncate(0)
            self.append(self.header)
            return
        try:
            header, *self.rows = [dict(json.loads(line)) for line in whole.splitlines()]
        except (ValueError, TypeError):
            raise ValueError(
                f"resume must name a file that an earlier run wrote, or a new file: "
                f"got {str(self.path)!r}."
            ) from None
        differ = [key for key, value in self.header.items() if header.get(key) != value]
        if differ:
            path = str(self.path)
            differences = [
                f"{DIGESTS[key]} those of {path!r}"
                if key in DIGESTS
                else f"{path!r} has {key} {header.get(key)!r}, not {self.header[key]!r}"
                for key in differ
            ]
            raise ValueError(
                f"resume must name runs of this same simulation: {'; '.join(differences)}.  "
                "Name another file or folder, or remove this one."
            )
        if any("run" not in row for row in self.rows):
            raise ValueError(
                f"resume must name a file that an earlier run wrote, or a new file: "
                f"got {str(self.path)!r}."
            )
        self._file.truncate(len(whole))
