"""Files of graphs in one text: GraphML, node-link JSON, lists of edges."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError
from mercer.io.columns import parse_numbers
from mercer.io.limits import FileError, shown
from mercer.io.source import Source
from mercer.io.structures.graph_archives import GraphData, refused

__all__ = ["read_edge_list", "read_graph_json", "read_graphml"]

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]')
_EVERY = 4096  # lines between two looks at the clock
_EXPANSION = 150  # bytes of memory for each of a file, measured on files of very small graphs


def _require(source: Source) -> None:
    source.limits.require(source.path, "Reading its graphs", len(source.data) * _EXPANSION)


def _packed(path: Path, graphs: list[Any]) -> Graphs:
    """Return packed graphs; what is wrong with one is reported as an error of the file."""
    try:
        return Graphs.pack(graphs)
    except DomainError as error:
        raise refused(path, error) from error


def _target(values: list[Any]) -> NDArray[Any]:
    """Return numbers if all are, else texts."""
    texts = [str(value) for value in values]
    numbers = parse_numbers(texts)
    if numbers is None or not np.isfinite(numbers).all():
        return np.array(texts, dtype=object)
    return numbers


# ---------------------------------------------------------------------------------------- GraphML


class _GraphML:
    """What a GraphML parser has seen so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.keys: dict[str, tuple[str, str, str]] = {}  # id -> what it is for, name, type
        self.defaults: dict[str, str] = {}
        self.graphs: list[dict[str, Any]] = []
        self.stack: list[str] = []
        self.text: list[str] | None = None
        self.data_key = ""
        self.place: Any = None  # the dict that data go into

    def refuse(self, problem: str, fix: str) -> NoReturn:
        raise self.source.error(problem, fix, line=self.parser.CurrentLineNumber)

    def parse(self) -> list[dict[str, Any]]:
        _require(self.source)
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.characters
        # without a document type there are no entities to expand, and no other file is looked at
        parser.StartDoctypeDeclHandler = lambda *_: self.refuse(
            "The file has a document type; GraphML without one is accepted.", "Remove the line that begins <!DOCTYPE."
        )
        try:
            parser.Parse(self.source.data, True)
        except expat.ExpatError as error:
            raise self.source.error(
                f"This is not XML: {expat.errors.messages[error.code]}.", "Write the file again.", line=error.lineno
            ) from error
        except FileError:
            raise
        except (LookupError, ValueError) as error:  # what the first line says of the encoding
            reason = shown(str(error))
            raise self.source.error(f"The encoding cannot be read: {reason}.", "Save it as UTF-8.", line=1) from error
        return self.graphs

    def start(self, tag: str, given: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        self.stack.append(name)
        if len(self.stack) > self.source.limits.depth:
            self.refuse(f"Elements are nested more than {self.source.limits.depth} deep, the limit.", "Flatten them.")
        if len(self.graphs) and len(self.graphs[-1]["nodes"]) % 4096 == 4095:
            self.source.check_time(self.parser.CurrentLineNumber)
        if name == "key":
            self.keys[given.get("id", "")] = (
                given.get("for", "all"),
                given.get("attr.name", given.get("id", "")),
                given.get("attr.type", "string"),
            )
            self.data_key = given.get("id", "")
        elif name == "graph":
            if self.stack.count("graph") > 1:
                self.refuse("A graph stands in a node of another; plain graphs are accepted.", "Take it out.")
            directed = given.get("edgedefault", "undirected") == "directed"
            graph = {"id": given.get("id"), "directed": directed, "nodes": {}, "edges": [], "data": {}}
            self.graphs.append(graph)
            self.place = graph["data"]
        elif name == "node" and self.graphs:
            if "id" not in given or given["id"] in self.graphs[-1]["nodes"]:
                self.refuse("A node has no id, or that of another node.", "Give every node an id of its own.")
            self.place = self.graphs[-1]["nodes"][given["id"]] = {}
        elif name == "edge" and self.graphs:
            if "source" not in given or "target" not in given:
                self.refuse("An edge has no source or no target.", "Give it both.")
            self.place = {}
            self.graphs[-1]["edges"].append((given["source"], given["target"], self.place))
        elif name in ("data", "default"):
            self.text = []
            self.data_key = given.get("key", self.data_key)
        elif name in ("hyperedge", "port"):
            self.refuse(f"There is a {name}; nodes and edges are accepted.", "Remove it.")

    def characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def end(self, tag: str) -> None:
        name = self.stack.pop()
        if name in ("data", "default") and self.text is not None:
            value = "".join(self.text)
            self.text = None
            if name == "default":
                self.defaults[self.data_key] = value
                return
            _, key, kind = self.keys.get(self.data_key, ("all", self.data_key, "string"))
            if self.place is not None:
                self.place[key] = self.typed(value, kind)
        elif name in ("node", "edge") and self.graphs:
            for key, value in self.defaults.items():
                use, word, kind = self.keys.get(key, ("all", key, "string"))
                if use in (name, "all"):
                    self.place.setdefault(word, self.typed(value, kind))
            self.place = self.graphs[-1]["data"]

    def typed(self, value: str, kind: str) -> Any:
        text = value.strip()
        if kind in ("int", "long", "float", "double"):
            try:
                number = float(text)
                if not math.isfinite(number):
                    raise ValueError
                return int(text) if kind in ("int", "long") else number
            except ValueError:
                self.refuse(f"{shown(text)} is not a finite number.", f"Its key says that it is of the type {kind}.")
        return text


def read_graphml(source: Source) -> GraphData:
    """Read GraphML: every ``graph`` element is a sample.

    Data named ``label`` and ``weight`` are those of nodes and edges; the other numbers of nodes, if all nodes of all
    graphs have them, are attributes; data of a graph are targets.
    """
    found = _GraphML(source).parse()
    if not found:
        raise source.error("There is no graph.", "Give a GraphML file with at least one.", line=1)
    every = [node for graph in found for node in graph["nodes"].values()]
    names = [
        name
        for name in (every[0] if every else {})
        if name not in ("label", "weight") and all(isinstance(node.get(name), int | float) for node in every)
    ]
    graphs = []
    for graph in found:
        nodes, edges = graph["nodes"], graph["edges"]
        raw: dict[str, Any] = {
            "nodes": list(nodes),
            "edges": [(u, v) for u, v, _ in edges],
            "labels": [_label(node.get("label")) for node in nodes.values()],
            "edge_labels": [_label(data.get("label")) for _, _, data in edges],
            "weights": [data.get("weight", 1.0) for _, _, data in edges],
            "directed": graph["directed"],
        }
        if names:
            raw["attributes"] = [[node[name] for name in names] for node in nodes.values()]
        graphs.append(raw)
    ids = tuple(str(graph["id"]) for graph in found)
    labels = ids if len(set(ids)) == len(ids) and all(graph["id"] is not None for graph in found) else None
    return GraphData(
        source.path, "graphml", _packed(source.path, graphs), _common([graph["data"] for graph in found]), labels
    )


def _label(value: Any) -> Any:
    """Return a label: a number of a file that is whole is that whole number, any other is its text."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else repr(value)
    return value


def _common(records: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return what all graphs have, as targets."""
    names = [name for name in records[0] if all(record.get(name) is not None for record in records)]
    return {name: _target([record[name] for record in records]) for name in names}


# ---------------------------------------------------------------------------------------- JSON


def read_graph_json(source: Source) -> GraphData:
    """Read node-link JSON, as networkx writes it: one graph, a list of graphs, or one graph on each line.

    A graph is ``{"nodes": [{"id": 0, "label": "C"}, ...], "links": [{"source": 0, "target": 1, "label": 1}, ...]}``;
    the edges may be under ``"edges"`` as well, and may be pairs. ``"directed"`` and ``"multigraph"`` are read,
    ``"attributes"`` of nodes are vectors. Labels may stand in lists of their own, as in `Graphs.pack`: ``{"edges":
    [[0, 1]], "labels": ["C", "O"]}``, and so may ``"attributes"``, ``"edge_labels"`` and ``"weights"``. Whatever else a
    graph has, or has under ``"graph"``, is a target.
    """
    found = _json_records(source)
    graphs, records = [], []
    for i, graph in enumerate(found):
        if not isinstance(graph, Mapping) or not ("links" in graph or "edges" in graph):
            raise source.error(
                f"Entry {i} is not a graph; an object with 'nodes' and 'links' (or 'edges') is accepted.",
                "Write graphs as networkx.node_link_data does.",
                row=i + 1,
            )
        graphs.append(_linked(source, i, graph))
        flags = ("directed", "multigraph")
        known = {key: v for key, v in graph.items() if isinstance(v, str | int | float) and key not in flags}
        inner = graph.get("graph")
        if isinstance(inner, Mapping):
            known = {key: v for key, v in inner.items() if isinstance(v, str | int | float)} | known
        records.append(known)
    if not graphs:
        raise source.error("There is no graph.", "Give at least one.", line=1)
    return GraphData(source.path, "graph-json", _packed(source.path, graphs), _common(records))


def _json_records(source: Source) -> list[Any]:
    _require(source)
    lines = list(source.lines())
    whole = "".join(lines)
    _check_depth(source, whole)

    def refuse(word: str) -> NoReturn:
        raise source.error(f"{word} is no JSON number.", "Write finite numbers.", line=1)

    try:
        found = json.loads(whole, parse_constant=refuse)
        return found if isinstance(found, list) else [found]
    except json.JSONDecodeError as error:
        first, problem = error.lineno, error.msg
    found = []
    for number, line in enumerate(lines, 1):
        if number % _EVERY == 0:
            source.check_time(number)
        if line.strip():
            try:
                found.append(json.loads(line, parse_constant=refuse))
            except json.JSONDecodeError as error:
                place, what = (first, problem) if number == 1 else (number, error.msg)
                raise source.error(
                    f"This is not JSON: {what}.", "Write one graph, a list of graphs, or a graph a line.", line=place
                ) from error
    return found


def _check_depth(source: Source, text: str) -> None:
    """Refuse deep nesting before the parser, which recurses, meets it."""
    depth, most = 0, source.limits.depth
    for match in _TOKENS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > most:
            raise source.error(
                f"Objects and lists are nested more than {most} deep, the limit.",
                "Write graphs as lists of nodes and links.",
                line=text.count("\n", 0, match.start()) + 1,
            )


def _linked(source: Source, i: int, graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node-link graph as a dict that `Graphs.pack` takes."""
    nodes, links = graph.get("nodes"), graph.get("links", graph.get("edges"))
    good = isinstance(links, list) and (nodes is None or isinstance(nodes, list))
    if not good:
        raise source.error(f"Graph {i} has nodes or links that are not a list.", "Write lists.", row=i + 1)
    raw: dict[str, Any] = {key: bool(graph.get(key, False)) for key in ("directed", "multigraph")}
    raw |= {"edges": [], "edge_labels": [], "weights": []}
    for link in links:
        if isinstance(link, Mapping) and "source" in link and "target" in link:
            pair, data = (link["source"], link["target"]), link
        elif isinstance(link, list) and len(link) in (2, 3):
            pair, data = (link[0], link[1]), {} if len(link) == 2 else {"weight": link[2]}
        else:
            raise source.error(
                f"Graph {i} has the link {shown(link)}, which is neither an object with 'source' and 'target' nor a "
                "pair.",
                "Correct it.",
                row=i + 1,
            )
        raw["edges"].append(pair)
        raw["edge_labels"].append(_label(data.get("label")))
        raw["weights"].append(data.get("weight", 1.0))
    if nodes is not None:
        objects = [node if isinstance(node, Mapping) else {"id": node} for node in nodes]
        if any("id" not in node for node in objects):
            raise source.error(f"Graph {i} has a node without 'id'.", "Give every node one.", row=i + 1)
        raw["nodes"] = [node["id"] for node in objects]
        raw["labels"] = [_label(node.get("label")) for node in objects]
        if any("attributes" in node for node in objects):
            raw["attributes"] = [node.get("attributes") for node in objects]
    return raw | _listed(source, i, graph, raw)


def _listed(source: Source, i: int, graph: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a graph gives in lists of its own; refuse what its nodes and links give as well."""
    found: dict[str, Any] = {}
    for key, usual in (("labels", None), ("attributes", None), ("edge_labels", None), ("weights", 1.0)):
        if graph.get(key) is None:
            continue
        if not isinstance(graph[key], list):
            raise source.error(f"Graph {i} has {key} that are not a list.", "Write a list.", row=i + 1)
        if any(value != usual for value in seen.get(key, ())):
            raise source.error(
                f"Graph {i} has a list of {key}, and its nodes or links have some too.",
                "Remove one of them.",
                row=i + 1,
            )
        found[key] = [_label(value) for value in graph[key]] if "labels" in key else graph[key]
    return found


# ---------------------------------------------------------------------------------------- lists of edges


def read_edge_list(source: Source) -> GraphData:
    r"""Read a list of edges: two nodes, and perhaps a weight, on a line; an empty line ends a graph.

    Nodes are words; what follows ``#`` is a comment. Graphs are undirected.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.io.limits import Limits
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "two.edges")
    ...     _ = path.write_text("a b\nb c 0.5\n\nx y\n")
    ...     data = read_edge_list(Source.open(path, Limits()))
    >>> data
    <GraphData of two.edges: 2 samples, 2 to 3 nodes, 1 to 2 edges>
    """
    _require(source)
    graphs: list[dict[str, Any]] = []
    current: dict[str, Any] = {"edges": [], "weights": []}
    for number, line in enumerate(source.lines(), 1):
        if number % _EVERY == 0:
            source.check_time(number)
        text, comment, _ = line.partition("#")
        words = text.replace(",", " ").split()
        if not words:
            if current["edges"] and not comment:
                graphs.append(current)
                current = {"edges": [], "weights": []}
            continue
        weight = parse_numbers(words[2:]) if len(words) == 3 else np.ones(1)
        if len(words) not in (2, 3) or weight is None or not np.isfinite(weight).all():
            raise source.error(
                f"{shown(text.strip())} stands where two nodes, and perhaps a weight, are expected.",
                "Write an edge as 'a b', or with its weight as 'a b 0.5'.",
                line=number,
            )
        current["edges"].append((words[0], words[1]))
        current["weights"].append(float(weight[0]))
    if current["edges"]:
        graphs.append(current)
    if not graphs:
        raise source.error("There is no edge.", "Give at least one.", line=1)
    return GraphData(source.path, "edges", _packed(source.path, graphs), {})
