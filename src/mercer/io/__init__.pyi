# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.io.checkpoint import Checkpoint as Checkpoint
from mercer.io.datasets import Dataset as Dataset
from mercer.io.limits import FileBudgetError as FileBudgetError
from mercer.io.limits import FileError as FileError
from mercer.io.limits import FileTimeError as FileTimeError
from mercer.io.limits import Limits as Limits
from mercer.io.readers import FORMATS as FORMATS
from mercer.io.readers import detect as detect
from mercer.io.readers import read as read
from mercer.io.tables import Table as Table
__all__ = [
    "Checkpoint",
    "Dataset",
    "FORMATS",
    "FileBudgetError",
    "FileError",
    "FileTimeError",
    "Limits",
    "Table",
    "detect",
    "read",
]
