"""Folders of texts: a file for each text, a subfolder for each class."""

from __future__ import annotations

from pathlib import Path

from mercer.io.columns import text_column
from mercer.io.formats import is_text_file
from mercer.io.limits import FileError, Limits
from mercer.io.source import Source
from mercer.io.tables import Table

__all__ = ["read_text_folder"]


def read_text_folder(path: str | Path, limits: Limits | None = None, encoding: str = "utf-8") -> Table:
    """Read all texts in a folder and its subfolders; the subfolder of each is what can be predicted.

    Files that end in .txt or have no ending are texts; others are skipped, with a note.

    Parameters
    ----------
    path : str or Path
    limits : Limits, optional
        Those of bytes and rows hold for all files together.
    encoding : str, default "utf-8"

    Returns
    -------
    Table
        The columns ``text``, ``file`` (an identifier) and, if there are subfolders, ``folder``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in (("ham", "see you at noon"), ("spam", "win a prize"), ("ham", "fine")):
    ...         Path(folder, name).mkdir(exist_ok=True)
    ...         _ = Path(folder, name, f"{len(text)}.txt").write_text(text)
    ...     table = read_text_folder(folder)
    >>> table.columns["text"], table.columns["folder"]
    (['see you at noon', 'fine', 'win a prize'], ['ham', 'ham', 'spam'])
    """
    limits, path = limits or Limits(), Path(path)
    if not path.is_dir():
        raise FileError(path, "This is not a folder.", "Name a folder, or read the file itself.")
    texts, files, folders, total, others, clock = [], [], [], 0, 0, limits.clock()
    for seen, file in enumerate(sorted(path.rglob("*")), 1):
        if clock.expired or seen > limits.rows:
            problem = f"The folder holds too much to look through: {seen:,} files and folders so far."
            raise FileError(path, problem, "Name a folder with nothing but the data.")
        if file.is_symlink() or not is_text_file(file):
            others += not file.is_dir()
            continue
        source = Source.open(file, limits, encoding)
        total += source.size
        if total > limits.bytes:
            raise source.too_large(total)
        texts.append("".join(source.lines()))
        inner = file.relative_to(path)
        files.append(str(inner))
        folders.append(inner.parts[0] if len(inner.parts) > 1 else "")
    if not texts:
        raise FileError(path, "The folder holds no texts (.txt, or without an ending).", "Name a folder of texts.")
    parts = {"text": text_column("text", texts, "text"), "file": text_column("file", files, "identifier")}
    if any(folders):
        parts["folder"] = text_column("folder", folders, "category")
    notes = (f"{others} files that are no texts were skipped.",) if others else ()
    return Table(path, "texts", parts, len(texts), notes=notes)
