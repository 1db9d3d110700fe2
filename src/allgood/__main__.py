"""``python -m allgood`` is the command ``allgood``."""

from .cli import main

if __name__ == "__main__":
    main()
