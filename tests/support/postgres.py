"""A PostgreSQL server for tests, of their own, in a temporary folder behind a Unix socket.

A shell starts the server.  When the standard input of the shell ends, it stops the server and
removes the folder.  The input also ends when the process that runs the tests is killed.
"""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAMS = ("initdb", "postgres", "pg_ctl")

SCRIPT = r"""
programs=$1 folder=$2 data=$2/data
trap 'rm -rf "$folder"' EXIT
fail() { cat "$folder/log"; exit 1; }
"$programs/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C --no-sync \
  >"$folder/log" 2>&1 || fail
"$programs/postgres" -D "$data" -p 5432 -k "$folder" -c listen_addresses= -F >"$folder/log" 2>&1 &
until grep -qs ^ready "$data/postmaster.pid"; do sleep 0.05; kill -0 $! 2>/dev/null || fail; done
echo ready
read -r _
"$programs/pg_ctl" stop -s -m fast -t 30 -D "$data" ||
  "$programs/pg_ctl" stop -s -m immediate -D "$data"
wait
"""


def programs():
    """The folder that holds PostgreSQL's programs.

    On the path, else the newest that Debian knows.
    """
    if os.name != "posix":
        pytest.skip("the PostgreSQL server of the tests needs a shell and a Unix socket")
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    newest = sorted(
        debian,
        key=lambda folder: [int(n) for n in folder.parent.name.split(".") if n.isdigit()],
        reverse=True,
    )
    for folder in [*os.get_exec_path(), *map(str, newest)]:
        if all(shutil.which(program, path=folder) for program in PROGRAMS):
            return folder
    pytest.skip(f"no folder with {', '.join(PROGRAMS)} on PATH nor in /usr/lib/postgresql/*/bin")


def account():
    """The user to run as, when we are root, which PostgreSQL refuses; else None."""
    if os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


@contextmanager
def postgres_server():
    """The URL of a new server, empty but for what every server has; it is stopped at the end."""
    home, user = programs(), account()
    identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    folder = temporary_folder(identity)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    with subprocess.Popen(
        ["sh", "-c", SCRIPT, "sh", home, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment,
        start_new_session=True,
        text=True,
        **identity,
    ) as shell:
        first = shell.stdout.readline()
        if first != "ready\n":
            raise RuntimeError(f"PostgreSQL in {home} did not start: {first}{shell.stdout.read()}")
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}&port=5432"


def temporary_folder(identity):
    """A new folder that belongs to the server's user and that it can reach, with a name short
    enough for a socket.
    """
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        folder = tempfile.mkdtemp(prefix="postgres-", dir=parent)
        if identity:
            os.chown(folder, identity["user"], identity["group"])
        reach = (
            subprocess.run(["test", "-w", folder], cwd="/", check=False, **identity).returncode == 0
        )
        if reach and len(f"{folder}/.s.PGSQL.5432") < 100:
            return folder
        os.rmdir(folder)
    pytest.skip("no temporary folder that PostgreSQL's user can reach")


@pytest.fixture(scope="session")
def postgres_url():
    """The URL of a server that all tests of this process share."""
    pytest.importorskip("sqlalchemy")
    # also when it does not find PostgreSQL's library
    pytest.importorskip("psycopg", exc_type=ImportError)
    with postgres_server() as url:
        yield url
