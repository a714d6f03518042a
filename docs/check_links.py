"""Check the pages that were built: every link to another page, a place on it, a picture or a file leads there.

``python -m docs.check_links build/docs`` prints what leads nowhere; `make docs` calls it. Addresses of other sites are
not opened.
"""

import posixpath
import re
import sys
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"""\s(?:href|src)=["']([^"'<>]+)["']""")
PLACE = re.compile(r"""\s(?:id|name)=["']([^"'<>]+)["']""")
CODE = re.compile(r"<script\b.*?</script>", re.DOTALL)


def broken(folder: Path) -> list[str]:
    """Return the links of all pages in a folder that lead nowhere, each with its page."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    pages = sorted(name for name in files if name.endswith(".html") and not name.startswith("_static/"))
    texts = {name: CODE.sub("", (folder / name).read_text(encoding="utf-8")) for name in pages}
    places = {name: {*PLACE.findall(text)} for name, text in texts.items()}
    return [f"{name}: {link}" for name in pages for link in _leading_nowhere(name, texts[name], files, places)]


def _leading_nowhere(name: str, text: str, files: set[str], places: dict[str, set[str]]) -> list[str]:
    above = posixpath.dirname(name)
    found = []
    for link in sorted({*LINK.findall(text)}):
        if re.match(r"[a-z]+:|//", link):
            continue
        file, _, place = unquote(link.replace("&amp;", "&")).partition("#")
        target = posixpath.normpath(posixpath.join(above, file.partition("?")[0])) if file else name
        if target not in files or (place and place not in places.get(target, {place})):
            found.append(link)
    return found


def main(folder: Path) -> int:
    """Print what leads nowhere; the exit status tells whether there is any."""
    found = broken(folder.resolve())
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
