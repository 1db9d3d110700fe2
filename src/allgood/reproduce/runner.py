"""Run experiments, write tables and pictures, and compare each result with the paper's claim.

    OUT/NAME/TABLE.csv        finished tables; not computed again
    OUT/NAME/PICTURE.png .pdf
    OUT/NAME/runs/            finished runs of tables that are not finished
    OUT/report.md

Pictures and findings are made from the written tables, so that they do not depend on when they are
made.
"""

import csv
import json
import os
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._internal.tables import guarded, unguarded
from . import NAMES, experiment
from ._common import OnProgress, Settings, TableRow, Tables


def reproduce(
    names: Sequence[str],
    out: Path,
    progress: Callable[[str], AbstractContextManager[OnProgress]],
    *,
    full: bool = False,
    data: Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    parquet: bool = False,
    say: Callable[[str], None] = print,
) -> Path:
    """Run these experiments, or all if none is named; return the path of the report."""
    if data is not None and not data.is_file():
        raise ValueError(f"data must name an existing file: got {str(data)!r}.")
    if parquet and find_spec("pyarrow") is None:
        raise ValueError(
            "parquet needs pyarrow, which is not installed: install the extra, allgood[parquet]."
        )
    chosen = list(names) or list(NAMES)
    modules = {name: experiment(name) for name in chosen}
    for name, module in modules.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        settings = Settings(full, folder / "runs", data, seed, progress, workers)
        stamp = {
            "allgood": version("allgood"),
            "full": full,
            "seed": seed,
            "data": data is not None,
        }
        finished = _finished(folder / "done.json", stamp)
        if finished is None:
            say(f"{name}: {module.TITLE} ...")
            computed: Tables = module.tables(settings)
            for table, rows in computed.items():
                _write_csv(folder / f"{table}.csv", rows)
            finished = list(computed)
            _write_text(folder / "done.json", json.dumps(stamp | {"tables": finished}) + "\n")
            shutil.rmtree(folder / "runs", ignore_errors=True)
        else:
            say(f"{name}: finished before, tables kept")
        tables = {table: read_csv(folder / f"{table}.csv") for table in finished}
        if parquet:
            for table, rows in tables.items():
                _write_parquet(folder / f"{table}.parquet", rows)
        for picture, figure in module.pictures(tables).items():
            for kind in ("png", "pdf"):
                # No date in the file: the same picture is the same bytes.
                hidden = {"CreationDate": None} if kind == "pdf" else None
                figure.savefig(folder / f"{picture}.{kind}", dpi=150, metadata=hidden)
    return _report(out, full, seed)


def _finished(path: Path, stamp: Mapping[str, Any]) -> list[str] | None:
    """Return the tables of a finished experiment; None if it is not finished.

    Raise ValueError if it was finished with other settings.
    """
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    differences = [
        f"{key} {stored.get(key)}, not {value}"
        for key, value in stamp.items()
        if stored.get(key) != value
    ]
    if differences:
        raise ValueError(
            f"out must be a folder of the same settings, or a new one: {str(path.parent)!r} has "
            f"{'; '.join(differences)}."
        )
    tables: list[str] = stored["tables"]
    return tables


def _write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8", newline="\n")
    os.replace(draft, path)


def _write_csv(path: Path, rows: Sequence[TableRow]) -> None:
    draft = path.with_name(path.name + ".part")
    with draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(guarded, rows[0]))
        writer.writerows([guarded(row[key]) for key in rows[0]] for row in rows)
    os.replace(draft, path)


def read_csv(path: Path) -> list[TableRow]:
    """Return the rows of a table.  Numbers become numbers; empty cells stay empty text."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return [{unguarded(key): _value(text) for key, text in row.items()} for row in rows]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"True": True, "False": False}.get(text, unguarded(text))


def _write_parquet(path: Path, rows: Sequence[TableRow]) -> None:
    import pyarrow.parquet

    table = pyarrow.table(
        {key: [None if row[key] == "" else row[key] for row in rows] for key in rows[0]}
    )
    pyarrow.parquet.write_table(table, path)


def _report(out: Path, full: bool, seed: int) -> Path:
    """Write one page with every experiment finished so far."""
    options = "--full" if full else "--quick"
    parts = [
        "# Reproduction of the paper's experiments\n",
        f"`allgood reproduce {options} --seed {seed}`, allgood {version('allgood')}, Python "
        f"{platform.python_version()}, NumPy {version('numpy')}.\n",
    ]
    if not full:
        parts.append(
            "**Quick mode: small sizes and few runs, to see that everything works. Figures are "
            "rough.**\n"
        )
    for name in NAMES:
        folder = out / name
        if not (folder / "done.json").exists():
            continue
        module = experiment(name)
        names = json.loads((folder / "done.json").read_text(encoding="utf-8"))["tables"]
        tables = {table: read_csv(folder / f"{table}.csv") for table in names}
        parts.append(f"## {module.TITLE} (`{name}`)\n")
        parts.append(f"**The paper.** {module.PAPER}\n")
        parts.append(f"**Found.** {module.findings(tables)}\n")
        parts.extend(
            f"![{picture.stem}]({name}/{picture.name})\n"
            for picture in sorted(folder.glob("*.png"))
        )
        parts.append(
            "Tables: " + ", ".join(f"[{table}.csv]({name}/{table}.csv)" for table in names) + "\n"
        )
    _write_text(out / "report.md", "\n".join(parts))
    return out / "report.md"
