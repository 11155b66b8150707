"""`python -m divulge` is the `divulge` command."""

from divulge.cli.main import main

main()
