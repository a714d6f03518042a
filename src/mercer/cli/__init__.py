"""The command line.

Only click is imported before a command runs, so that ``mercer --help`` answers at once.
"""

from mercer.cli.application import main

__all__ = ["main"]
