"""Compile every module x.py of the package that has a header x.pxd beside it.

pyproject.toml describes the package and its dependencies.  One build serves all Pythons from 3.11
on.  If nothing can be compiled, the same files run as plain Python.  Environment variables:

    ALLGOOD_PURE=1     do not compile
    ALLGOOD_PURE=0     compile or fail: for wheels that are published
    ALLGOOD_DEBUG=1    compile with bounds checks: for tests
"""

import json
import os
import runpy
import sys
import sysconfig
import tempfile
import zlib
from importlib.metadata import version
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = Path("src")
PACKAGE = SOURCE / "allgood"
MADE_OF = Path("build", "made-of.json")  # checksums of the sources of the files in build/
BUILD = runpy.run_path(str(PACKAGE / "_build.py"))
SHARED = BUILD["SHARED"]  # a module written by Cython, for what all others have in common

PURE = os.environ.get("ALLGOOD_PURE", "")
DEBUG = os.environ.get("ALLGOOD_DEBUG", "") == "1"
WINDOWS = os.name == "nt"
CORES = os.cpu_count() or 1
# CPython's stable interface: one file for all versions.  Free-threaded Pythons have none so far.
STABLE = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "wraparound": False,
    "cdivision": True,  # dividing by zero gives inf or nan
    "infer_types": True,
    "auto_pickle": False,  # what is sent to other processes has a __reduce__ of its own
    "show_performance_hints": False,
    "warn.unreachable": False,  # code after `if cython.compiled: return ...`
}
# No fused multiply-add, which would round differently on other processors.  No warnings (-w):
# the C code is Cython's, and Cython gives its own.
FLAGS = ["-g0", "-ffp-contract=off", "-w"]
FLAGS_OF_MSVC = ["/Od" if DEBUG else "/O2"]


def level(source: Path) -> str:
    """Return the level of optimization; the file for all modules is large, and in no loop."""
    if not DEBUG:
        return "-O3"
    return "-O0" if source.stem == SHARED else "-O1"


def extension(source: Path) -> Extension:
    """Return the extension of one source."""
    return Extension(
        name=".".join(source.relative_to(SOURCE).with_suffix("").parts),
        sources=[source.as_posix()],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
        extra_compile_args=FLAGS_OF_MSVC if WINDOWS else [level(source), *FLAGS],
        libraries=[] if WINDOWS else ["m"],
        py_limited_api=STABLE,
    )


def core() -> list[Extension]:
    """Return one extension per module with a header, the largest first: they take longest."""
    modules = [header.with_suffix(".py") for header in PACKAGE.rglob("*.pxd")]
    modules = [module for module in modules if module.exists()]
    modules.sort(key=lambda module: (-module.stat().st_size, module))
    return [extension(source) for source in [PACKAGE / f"{SHARED}.c", *modules]]


def can_compile() -> bool:
    """Return whether there are a C compiler and Python's headers."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return 0; }\n")
        command = build_ext(Distribution({"ext_modules": [Extension("probe", [str(probe)])]}))
        command.build_lib = command.build_temp = folder
        try:
            command.ensure_finalized()
            command.run()
        except Exception:
            return False
    return True


def settings() -> str:
    """Return everything that the compiled files depend on besides the sources."""
    script = zlib.crc32(Path("setup.py").read_bytes())
    tools = f"Cython {version('cython')}, NumPy {version('numpy')}, setup.py {script:08x}"
    return f"{tools}, DEBUG {DEBUG}, CFLAGS {os.environ.get('CFLAGS', '')}"


def made_of() -> dict[str, str]:
    """Return checksums of the sources of the files in build/, and the settings."""
    if not MADE_OF.exists():
        return {}
    checksums: dict[str, str] = json.loads(MADE_OF.read_text())
    return checksums


def remove_compiled(folder: Path, keep: set[Path]) -> None:
    """Delete other compiled files than these, such as those of modules that are gone."""
    for file in [*folder.rglob("*.so"), *folder.rglob("*.pyd")]:
        if file.resolve() not in keep:
            file.unlink()


def check_models() -> None:
    """Exit with a message if a model does not fulfil the contract of models."""
    contract = PACKAGE / "models" / "contract.py"
    problems = runpy.run_path(str(contract))["problems"](contract.parent)
    if problems:
        raise SystemExit("\n".join(problems))


class build_core(build_ext):
    """Compile all modules or none: compiled and plain modules do not mix."""

    def run(self) -> None:
        in_place = self.inplace  # setuptools changes it on the way
        if not self.extensions:
            remove_compiled(PACKAGE, keep=set())
            return
        try:
            self.compile_changed(in_place)
        except Exception as error:
            if in_place or PURE == "0":
                raise  # whoever works on the sources wants to see the error
            print(f"Compiling failed: {error}\n{UNCOMPILED}", file=sys.stderr)
            for file in self.get_outputs():
                Path(file).unlink(missing_ok=True)
            self.extensions.clear()

    def compile_changed(self, in_place: bool) -> None:
        """Compile what has changed since the last build, and what depends on it."""
        sources = BUILD["snapshot"]()
        current, before = sources | {"settings": settings()}, made_of()
        if in_place and current == before and BUILD["recorded"]() == sources and self.complete():
            return
        MADE_OF.parent.mkdir(exist_ok=True)
        same = dict(current.items() & before.items())
        MADE_OF.write_text(json.dumps(same))  # all that is sure, should the build fail
        for name in sources.keys() - same.keys():
            (PACKAGE / name).touch()  # Cython compares times, and a copied file may look old
        self.write_c(force="settings" not in same)
        super().run()
        MADE_OF.write_text(json.dumps(current))
        if in_place:
            remove_compiled(PACKAGE, keep=self.files())
            BUILD["record"](sources)
        else:
            remove_compiled(Path(self.build_lib), keep=self.files())

    def files(self) -> set[Path]:
        return {Path(self.get_ext_fullpath(part.name)).resolve() for part in self.extensions}

    def complete(self) -> bool:
        return all(file.exists() for file in self.files())

    def write_c(self, force: bool) -> None:
        """Have Cython translate the modules that changed.  It knows who depends on which header."""
        import numpy as np
        from Cython.Build import cythonize

        written = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=f"allgood.{SHARED}",
            build_dir="build/cython",
            nthreads=CORES,
            force=force,
            quiet=True,
        )
        c_files = {part.name: part.sources for part in written}
        for part in self.extensions:
            part.sources = c_files[part.name]
            part.include_dirs.append(np.get_include())
            if part.name == "allgood.kernels.random_stream":
                part.library_dirs.append(str(Path(np.__file__).parent / "random" / "lib"))
                part.libraries.insert(0, "npyrandom")


UNCOMPILED = (
    "allgood is installed uncompiled and runs about a hundred times slower: "
    f"to compile it, install {BUILD['TOOLS']}."
)

if __name__ == "__main__":  # on some systems Cython's processes read this file again
    check_models()
    compiled = PURE != "1" and can_compile()
    if not compiled:
        print(UNCOMPILED, file=sys.stderr)
        if PURE == "0":
            raise SystemExit(
                "ALLGOOD_PURE=0 asks for a compiled package, and there is no compiler."
            )
    setup(
        ext_modules=core() if compiled else [],
        cmdclass={"build_ext": build_core},
        options={
            "build_ext": {"parallel": CORES},
            "bdist_wheel": {"py_limited_api": "cp311"} if STABLE else {},
        },
    )
