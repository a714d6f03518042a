"""Write what the packages of mercer export: src/mercer/export_map.py, and a stub beside each package for type checkers.

A module names in ``__public__`` what its package exports (``__public__ = __all__`` if that is all), so a new class is
exported by the file that defines it. Nothing is imported here: files are only read, so that a map that is out of date
does not block the next one.

The map also has the classes that are not public but kept in model files: dataclasses beside public names, and what a
module names in ``__saved__``.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.pages import write

SOURCE = Path(__file__).resolve().parents[1] / "src"
NOTE = "Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost."
# Besides the estimators, what users do with them is imported from mercer itself.
VERBS = {
    "mercer.catalogue": ["all_estimators", "all_kernels"],
    "mercer.choosing.search": ["search"],
    "mercer.first_model.any_data": ["automatic", "source_kernels"],
    "mercer.first_model.intervals": ["predict_interval"],
    "mercer.io.checkpoint": ["Checkpoint"],
    "mercer.io.interop": ["from_libsvm", "from_sklearn"],
    "mercer.io.model_file": ["load", "save"],
    "mercer.language": ["parse"],
    "mercer.preimages.methods": ["preimage"],
    "mercer.reports.report": ["report"],
}
# In these, a dataclass that is defined beside something public may be part of a model.
RECORDS = ("mercer.estimators", "mercer.gram", "mercer.inference", "mercer.kernels", "mercer.models")
Exports = dict[str, dict[str, list[str]]]


def listed(text: str, name: str) -> list[str]:
    """Return the names in a list of a module, such as ``__all__``; none if there is no such list.

    Examples
    --------
    >>> listed('__all__ = ["A", "B"]\\n__public__ = __all__', "__public__")
    ['A', 'B']
    """
    found = re.search(rf"^{name} = (?:(\[.*?\])|(\w+))", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return []
    return listed(text, found[2]) if found[2] else ast.literal_eval(found[1])


def modules(source: Path) -> dict[str, str]:
    """Return the texts of the modules of mercer, by name."""
    paths = [path for path in sorted((source / "mercer").rglob("*.py")) if path.name != "__init__.py"]
    return {".".join(path.relative_to(source).with_suffix("").parts): path.read_text("utf-8") for path in paths}


def exports(texts: dict[str, str]) -> Exports:
    """Return what each package exports: the modules that define the names, and the names."""
    found: Exports = {"mercer": dict(VERBS)}
    for module, text in texts.items():
        if names := sorted(listed(text, "__public__")):
            package = ".".join(module.split(".")[:2])
            found.setdefault(package, {})[module] = names
    found["mercer"] |= found["mercer.estimators"]
    for package, homes in found.items():
        names = [name for home in homes for name in homes[home]]
        twice = sorted({name for name in names if names.count(name) > 1})
        assert not twice, f"{package} would export {twice} of two modules each; rename one of them"
    return {package: dict(sorted(found[package].items())) for package in sorted(found)}


def saved(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the classes besides the public ones that model files may hold, by the modules that define them."""
    found = {}
    for module, text in texts.items():
        public, names = listed(text, "__public__"), listed(text, "__saved__")
        if public and module.startswith(RECORDS):
            names += [name for name in dataclasses(text) if name not in public]
        if names:
            found[module] = sorted(set(names))
    return found


def dataclasses(text: str) -> list[str]:
    """Return the dataclasses of a module whose names have no underscore in front."""
    return re.findall(r"^@(?:dataclasses\.)?dataclass\b[^\n]*\n(?:@[^\n]*\n)*class ([A-Za-z]\w*)", text, re.MULTILINE)


def export_map(texts: dict[str, str]) -> str:
    """Return the map as a Python file."""
    lines = [
        f'"""What each package exports, and what else model files hold, by the modules that define it.\n\n{NOTE}\n"""'
    ]
    lines += ["", "EXPORTS: dict[str, dict[str, tuple[str, ...]]] = {"]
    for package, homes in exports(texts).items():
        lines += [f'    "{package}": {{', *(f"    {line}" for line in written(homes)), "    },"]
    lines += ["}", "", "SAVED: dict[str, tuple[str, ...]] = {", *written(saved(texts)), "}"]
    return "\n".join(lines) + "\n"


def written(homes: dict[str, list[str]]) -> Iterator[str]:
    """Yield lines of a dictionary."""
    for home, names in homes.items():
        items = " ".join(f'"{name}",' for name in names)
        yield f'    "{home}": ({items}),'


def stub(package: str, found: Exports) -> str:
    """Return what type checkers read instead of a package that imports names on their first use."""
    lines = [f"# {NOTE}"]
    lines += [f"from {home} import {name} as {name}" for home, names in found[package].items() for name in names]
    names = sorted(name for names in found[package].values() for name in names)
    if package == "mercer":
        lines += [f"from mercer import {name[7:]} as {name[7:]}" for name in found if name != "mercer"]
        lines.append("__version__: str")
    return "\n".join([*lines, "__all__ = [", *(f'    "{name}",' for name in names), "]"]) + "\n"


def pages(source: Path = SOURCE) -> dict[Path, str]:
    """Return all files by their place."""
    texts = modules(source)
    found = exports(texts)
    stubs = {source.joinpath(*package.split("."), "__init__.pyi"): stub(package, found) for package in found}
    return {source / "mercer" / "export_map.py": export_map(texts), **stubs}


if __name__ == "__main__":
    write(pages())
