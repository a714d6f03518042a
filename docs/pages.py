"""Pages that scripts write into docs/: write them, and find those that are out of date."""

from collections.abc import Mapping
from pathlib import Path

# Front matter of pages with wide tables: no column of contents beside them.
WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"


def write(pages: Mapping[Path, str], folder: Path | None = None) -> None:
    """Write pages that have changed; with a folder, remove from it those that are no longer made."""
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.md") if folder is not None else ():
        if path not in pages:
            path.unlink()


def outdated(pages: Mapping[Path, str]) -> list[str]:
    """Return the names of pages that are missing or differ from what the script makes."""
    stale = (path for path, text in pages.items() if not path.is_file() or path.read_text(encoding="utf-8") != text)
    return sorted(path.name for path in stale)


def cell(text: str) -> str:
    """Return text that is valid in a cell of a Markdown table."""
    return text.replace("|", r"\|").replace("\n", " ")


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
