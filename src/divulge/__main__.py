"""`python -m divulge` is the `divulge` command."""

import os
import sys

from divulge import __version__, children, stopping


def main() -> None:
    """Run the command, in a process of its own; `--version` alone is answered before anything is loaded.

    Signals are caught before that: what comes while the libraries are loaded ends it like what comes later.
    """
    children.isolate()
    stopping.catch()
    if sys.argv[1:] == ["--version"] and _version():
        return
    from divulge.cli.supervisor import supervised

    supervised(_work)


def _work() -> None:
    try:
        from divulge.cli.main import main as command

        command()
    except (KeyboardInterrupt, Exception) as error:
        if not stopping.ASKED and not isinstance(error, KeyboardInterrupt):
            raise
        stopping.ignore()
        os.write(2, b"interrupted\n")
        sys.exit(stopping.INTERRUPTED)


def _version() -> bool:
    try:
        os.write(1, f"divulge {__version__}\n".encode())
    except OSError:  # the command says what is wrong with standard output
        return False
    return True


if __name__ == "__main__":
    main()
