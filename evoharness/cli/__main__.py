"""`python -m evoharness.cli`."""

from evoharness.cli import main

main()
