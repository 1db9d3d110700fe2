"""The compiled cache sees edits in other files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "allgood"

ASK = """
from allgood._check import means_array
from allgood import two
print(two.outer(3.0))
"""


def test_an_edit_in_one_file_recompiles_kernels_of_another(tmp_path):
    """``outer`` in two.py calls ``inner`` in one.py; only one.py is edited, and ``outer`` must follow.

    With Numba's own stamp (the file of the function alone) the second answer would be the first again.
    """
    package = tmp_path / "allgood"
    package.mkdir()
    for name in ("__init__.py", "_jit.py", "_check.py"):
        shutil.copy(SOURCE / name, package / name)
    kernel = "from ._jit import jit\n\n\n@jit\ndef inner(x):\n    return x + {}\n"
    (package / "two.py").write_text(
        "from ._jit import jit\nfrom .one import inner\n\n\n@jit\ndef outer(x):\n    return 10.0 * inner(x)\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "cache"))

    def ask():
        done = subprocess.run(
            [sys.executable, "-c", ASK],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)

    (package / "one.py").write_text(kernel.format("1.0"))
    assert ask() == 40.0
    cached = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")}
    assert cached
    assert ask() == 40.0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")} == cached
    (package / "one.py").write_text(kernel.format("2.0"))
    assert ask() == 50.0
