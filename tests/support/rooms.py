"""The rooms of the package, and the rooms from which each may import."""

# The rooms that each room may import from, besides itself, ``_internal`` and ``_build``.
# ``__init__`` stands for the public names.
RULES = {
    "_build": "",
    "_internal": "",
    "kernels": "",
    "objectives": "",
    "models": "kernels",
    "theory": "kernels objectives models",
    "evidence": "kernels objectives models theory",
    "strategies": "kernels objectives models theory evidence",
    "simulation": "kernels objectives models theory evidence strategies",
    "certificates": "kernels objectives models evidence study",
    "study": "kernels objectives models theory evidence strategies simulation certificates",
    "reporting": "objectives models theory evidence strategies simulation study certificates",
    "reproduce": "__init__ objectives models theory evidence strategies simulation reporting",
    "serve": "__init__ objectives models theory evidence strategies simulation study certificates "
    "reporting",
    "cli": "__init__ objectives models theory evidence strategies simulation study certificates "
    "reporting reproduce serve",
    "__main__": "cli",
}

# Modules that import nothing of the package.
ALONE = ["certificates.verify"]

# Modules that import by a name which is computed, and the modules of the package that they load.
# The registry imports a user's module.  The finder of ``_build`` loads the module of a cimport: it
# counts as an import of the kernel that has it.
COMPUTED = {
    "__init__": None,  # the public names: the modules of the stub
    "_build": (),
    "reproduce.__init__": "alternatives sets risk arms drugs example theory",
    "simulation.registry": (),
}
