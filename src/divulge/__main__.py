"""`python -m divulge` is the `divulge` command."""

import os
import sys

from divulge import __version__


def main() -> None:
    """Run the command; `--version` alone is answered before anything is loaded."""
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
