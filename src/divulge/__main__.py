"""`python -m divulge` is the `divulge` command."""

import os
import sys

from divulge import __version__
from divulge.cli import stopping


def main() -> None:
    """Run the command; `--version` alone is answered before anything is loaded.

    Signals are caught before that: what comes while the libraries are loaded ends it like what comes later.
    """
    stopping.catch()
    try:
        _main()
    except (KeyboardInterrupt, Exception) as error:
        if not stopping.ASKED and not isinstance(error, KeyboardInterrupt):
            raise
        stopping.ignore()
        os.write(2, b"interrupted\n")
        sys.exit(stopping.INTERRUPTED)


def _main() -> None:
    if sys.argv[1:] == ["--version"]:
        try:
            os.write(1, f"divulge {__version__}\n".encode())
        except OSError:
            pass  # the command says what is wrong with standard output
        else:
            return
    from divulge.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
