"""`python -m sdcgate.cli`."""

from sdcgate.cli import main

main(prog_name="sdcgate")
