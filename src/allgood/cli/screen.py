"""A simulated screen of 60 compounds on plates, which ``allgood demo`` writes into a database."""

import logging
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..models.gaussian import Gaussian
from ..objectives import Additive
from ..study.plates import Plate
from ..study.study import Study, create_study, delete_study, list_studies
from ..study.wells import well_position
from .serve import say_where, server

SIGMA, EPSILON, DELTA, SEED = 10.0, 15.0, 0.05, 2
COMPOUNDS = [f"C{i:02}" for i in range(1, 61)]
BEST = (92.0, 90.0, 88.0, 85.0, 84.0, 71.0, 68.0, 65.0)  # five are within 15 of the best
PLATE = Plate(8, 12, {"DMSO": 8})
SLIP = 5  # on this plate one value has its decimal point in the wrong place


def begin(database: Path, name: str) -> Study:
    """A new study of this name, in the place of an earlier one."""
    if database.exists() and name in list_studies(database):
        delete_study(database, name)
    study = create_study(
        database,
        name,
        arms=COMPOUNDS,
        objective=Additive(EPSILON),
        delta=DELTA,
        model=Gaussian(SIGMA),
        seed=SEED,
    )
    study.quiet = True
    return study


def steps(study: Study, wells: int) -> Iterator[int]:
    """Ask for plates and tell their values, so many wells at once, until nothing is left to ask.

    Yields the number of the plate after every step.
    """
    rng = np.random.default_rng(SEED)
    truth = dict(zip(COMPOUNDS, rng.uniform(0.0, 60.0, len(COMPOUNDS)), strict=True))
    truth |= dict(zip(COMPOUNDS, BEST, strict=False))
    plate, slip = 0, None
    while tickets := study.ask(client="robot", plate=PLATE):
        plate += 1
        yield plate
        sheet: list[dict[str, Any]] = [
            {
                "ticket": row.ticket,
                "arm": row.arm,
                "plate": row.plate,
                "well": row.well,
                "value": round(truth.get(row.arm, 0.0) + SIGMA * rng.standard_normal(), 1),
            }
            for row in sorted(study.sheet(tickets), key=lambda row: well_position(row.well))
        ]
        if plate == SLIP:
            row = max(sheet, key=lambda row: float(row["value"]))
            slip = row["ticket"], row["value"]
            row["value"] *= 10.0
        for i in range(0, len(sheet), wells):
            study.tell(sheet[i : i + wells], client="reader")
            yield plate
        if slip is not None and plate > SLIP:
            study.correct(*slip, "the decimal point was misplaced")
            slip = None
            yield plate


def write_screen(database: Path) -> Study:
    """A study half-way: one value is suspect, and a plate is being measured."""
    study = begin(database, "screen")
    for plate in steps(study, PLATE.rows * PLATE.columns):
        if plate > SLIP:
            break
    return study


def print_screen(study: Study, database: Path) -> None:
    """Print what was written, and how to look at it."""
    status = study.status()
    print(
        f"\nA simulated screen of {len(status.arms)} compounds, half-way, is in {database}: "
        f"{len(status.good)} good, {len(status.bad)} bad, {len(status.open)} open."
    )
    print(f"Look at it in a browser:    allgood serve {database}")
    print("Watch such a study live:    allgood demo --live")


def serve_live(database: Path, pause: float, port: int) -> None:
    """Play a whole study while a server shows it, until somebody stops the server."""
    serve = server()
    logging.getLogger("allgood.serve").setLevel(logging.WARNING)  # not a line for each request
    study, stop = begin(database, "live"), threading.Event()
    played: list[Future[None]] = []

    def play() -> None:
        for _ in steps(study, PLATE.columns):
            if stop.wait(pause):
                return
        print(study.status().verdict, flush=True)

    def begun(address: str) -> None:
        say_where(f"{address}/#/studies/{study.backend.number}")
        played.append(player.submit(play))
        played[0].add_done_callback(ended)

    def ended(playing: Future[None]) -> None:
        if playing.exception() is not None:
            interrupt_main()  # as Ctrl-C: the server ends

    with ThreadPoolExecutor(1) as player:
        try:
            serve(str(database), port=port, ready=begun)
        finally:
            stop.set()
            for playing in played:
                playing.result()  # raises what went wrong
