"""Files of trees and graphs that must be refused, and odd ones that must be read right.

They are part of what `tests.broken_files` writes; each is a name, a content, and what is wrong with it.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator, Mapping

Case = tuple[str, bytes, str]

PENN = "( (S (NP we)\n  (VP go)) )\n(S (NP they) (VP (V stay)))\n"
XML = '<?xml version="1.0"?>\n<a><b c="1">words</b><b/></a>\n'
TREE_JSON = '[{"a": [1, 2]},\n {"b": {"c": null}}]\n'
GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d" for="node" attr.name="label" attr.type="string"/>
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<graph id="one"><node id="a"><data key="d">C</data></node><node id="b"/>
<edge source="a" target="b"><data key="w">2.5</data></edge></graph>
</graphml>
"""
GRAPH = {"nodes": [{"id": 0, "label": "C"}, {"id": 1}], "links": [{"source": 0, "target": 1}], "kind": "acid"}
GRAPH_JSON = json.dumps([GRAPH, GRAPH])
EDGES = "a b\nb c 0.5\n\nx y\n"
TEXTS = {"mrg": PENN, "xml": XML, "json": TREE_JSON, "graphml": GRAPHML, "edges": EDGES}
TU = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_labels": "6\n6\n8\n6\n1\n",
}
LAUGHS = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(10))
BOMB = f"<!DOCTYPE a [{LAUGHS}]>"


def zipped(parts: Mapping[str, str | None], packed: bool = False) -> bytes:
    """Return an archive of graphs in the TU Dortmund format."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for part, text in parts.items():
            if text is not None:
                archive.writestr(zipfile.ZipInfo(f"TOY/TOY_{part}.txt"), text, 8 if packed else 0)
    return stream.getvalue()


def any_text() -> Iterator[Case]:
    """Yield what can be wrong with any text."""
    for kind, text in TEXTS.items():
        data = text.encode()
        half = len(data) // 2
        packed = gzip.compress(data, mtime=0)
        yield f"empty.{kind}", b"", "empty"
        yield f"blank.{kind}", b"\n\n \n", "only blank lines"
        yield f"nul.{kind}", data[:half] + b"\0" + data[half:], "NUL byte"
        yield f"latin1.{kind}", data[:half] + "é".encode("latin-1") + data[half:], "Latin-1"
        yield f"cut_character.{kind}", data + "é".encode()[:1], "half of a UTF-8 character at the end"
        yield f"cut.{kind}.gz", packed[:-9], "gzip cut off"
        yield f"bomb.{kind}.gz", gzip.compress(data + b"\n" * 4_000_000, mtime=0), "decompression bomb"
        yield f"is_png.{kind}", b"\x89PNG\r\n\x1a\n" + bytes(50), "a picture"
        yield f"is_pickle.{kind}", b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00N.", "a pickle"
    for kind in ("mrg", "json", "edges"):
        yield f"utf-16.{kind}", TEXTS[kind].encode("utf-16"), "UTF-16"
    for kind in ("html", "py"):
        yield f"latin1.{kind}", "x = 'é'\n".encode("latin-1"), "Latin-1"
        yield f"empty.{kind}", b"", "empty"


def trees() -> Iterator[Case]:
    """Yield broken files of trees."""
    banks = {
        "open": "(S (NP we)\n(VP go)\n",
        "close": "(S (NP we))\n(VP go))\n",
        "word_between": "(S we)\nword\n(S go)",
        "word_before": "word (S go)",
        "word_after": "(S go) word",
        "no_brackets": "hello world",
        "only_open": "(" * 50_000,
        "only_close": ")" * 50_000,
    }
    for name, text in banks.items():
        yield f"{name}.mrg", text.encode(), f"brackets: {name}"
    documents = {
        "mismatched": "<a>\n<b></a>",
        "open": "<a>\n<b>",
        "two_roots": "<a/>\n<b/>",
        "words": "hello",
        "entities": f"{BOMB}<a>&e9;</a>",
        "external": '<!DOCTYPE a [<!ENTITY x SYSTEM "secret.txt">]><a>&x;</a>',
        "parameter": '<!DOCTYPE a [<!ENTITY % x "y">]><a/>',
        "undeclared": "<a>&x;</a>",
        "encoding": '<?xml version="1.0" encoding="nothing"?><a/>',
        "wide_encoding": '<?xml version="1.0" encoding="shift_jis"?><a/>',
        "deep": "<a>" * 50_000,
    }
    for name, text in documents.items():
        yield f"{name}.xml", text.encode(), f"XML: {name}"
    values = {
        "open": '{"a": [1,\n 2',
        "comma": '{"a": [1,]}',
        "word": '{"a": [tru]}',
        "nan": '{"a": [NaN]}',
        "twice": '{"a": [1], "a": [2]}',
        "two": "[[1], [2]] [[3]]",
        "nothing": "[]",
        "member": '[{"a": [1]}, 3]',
        "single": "5",
        "text": '"text"',
        "numbers": "[1, 2, 3]",
        "records": '[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
        "very_deep": "[" * 100_000,
        "deep_objects": '{"a":' * 100_000,
        "open_text": '{"a": ["' + "\\" * 100_001,
        "quotes": '["' + '\\"' * 100_000,
    }
    for name, text in values.items():
        yield f"{name}.json", text.encode(), f"JSON of trees: {name}"
    sources = {
        "syntax": "x = 1\ndef f(:\n",
        "deep": "(" * 50_000,
        "indent": "if x:\n  y\n z\n",
        "print": "print 'x'\n",
        "null": "x = '\0'\n",
    }
    for name, text in sources.items():
        yield f"{name}.py", text.encode(), f"Python: {name}"


def graphs() -> Iterator[Case]:
    """Yield broken files of graphs."""
    changes = {
        "entities": ("<graphml", f"{BOMB}<graphml"),
        "doctype": ("<graphml", "<!DOCTYPE graphml><graphml"),
        "no_id": ('<node id="b"/>', "<node/>"),
        "twin": ('<node id="b"/>', '<node id="b"/><node id="a"/>'),
        "no_target": ('target="b"', ""),
        "far": ('target="b"', 'target="z"'),
        "weight": ("2.5", "heavy"),
        "weight_nan": ("2.5", "nan"),
        "weight_huge": ("2.5", "1e400"),
        "open": ("</graphml>", ""),
        "hyperedge": ("<edge ", "<hyperedge/><edge "),
        "inner": ('<node id="b"/>', '<node id="b"><graph/></node>'),
        "deep": ("<graph ", "<x>" * 200 + "<graph "),
    }
    for name, (before, after) in changes.items():
        yield f"{name}.graphml", GRAPHML.replace(before, after, 1).encode(), f"GraphML: {name}"
        if name in ("entities", "open", "far"):
            yield f"graphml_{name}.xml", GRAPHML.replace(before, after, 1).encode(), f"GraphML named .xml: {name}"
    for name in ("nothing", "shift_jis"):
        text = GRAPHML.replace('"1.0"', f'"1.0" encoding="{name}"')
        yield f"encoding_{name}.graphml", text.encode(), f"GraphML in the encoding {name}"
    yield "no_graph.graphml", b"<graphml/>", "GraphML without a graph"
    yield "other_root.graphml", b"<svg><circle/></svg>", "XML of another kind"
    nodes, links = '"nodes": [{"id": 0}, {"id": 1}]', '"links": [{"source": 0, "target": 1}]'
    values = {
        "edges_only": '{"edges": [[0, 1]]}',
        "nodes_only": f"{{{nodes}}}",
        "open": f"{{{nodes}, {links}",
        "far": f'{{{nodes}, "links": [{{"source": 0, "target": 7}}]}}',
        "no_source": f'{{{nodes}, "links": [{{"target": 1}}]}}',
        "no_id": f'{{"nodes": [{{"label": 1}}], {links}}}',
        "link_word": f'{{{nodes}, "links": ["ab"]}}',
        "weight_nan": f'{{{nodes}, "links": [{{"source": 0, "target": 1, "weight": NaN}}]}}',
        "weight_huge": f'{{{nodes}, "links": [{{"source": 0, "target": 1, "weight": 1e400}}]}}',
        "weight_word": f'{{{nodes}, "links": [{{"source": 0, "target": 1, "weight": "x"}}]}}',
        "label_list": '{"nodes": [{"id": 0, "label": [1]}], "links": []}',
        "id_list": '{"nodes": [{"id": [0]}], "links": []}',
        "deep": f'{{{nodes}, "links": {"[" * 200}{"]" * 200}}}',
        "second": f"[{{{nodes}, {links}}}, 3]",
    }
    for name, text in values.items():
        yield f"graph_{name}.json", text.encode(), f"JSON of graphs: {name}"
    yield "graphs.jsonl", (json.dumps(GRAPH) + "\n{\n").encode(), "JSON lines of graphs, the second cut off"
    lists = {"one": "a b\na\n", "four": "a b 1 2\n", "weight": "a b x\n", "huge": "a b 1e400\n", "none": "# nothing\n"}
    for name, text in lists.items():
        yield f"{name}.edgelist", text.encode(), f"list of edges: {name}"


def archives() -> Iterator[Case]:
    """Yield broken archives in the TU Dortmund format."""
    changes = {
        "no_edges_file": {"A": None},
        "no_indicator": {"graph_indicator": None},
        "short_indicator": {"graph_indicator": "1\n1\n1\n2\n"},
        "long_indicator": {"graph_indicator": "1\n1\n1\n2\n2\n2\n"},
        "unsorted": {"graph_indicator": "1\n1\n2\n1\n2\n"},
        "gap": {"graph_indicator": "1\n1\n1\n3\n3\n"},
        "from_zero": {"graph_indicator": "0\n0\n0\n1\n1\n"},
        "few_labels": {"graph_labels": "1\n"},
        "many_labels": {"graph_labels": "1\n2\n3\n"},
        "few_node_labels": {"node_labels": "1\n2\n"},
        "far": {"A": "1, 2\n2, 9\n"},
        "zero": {"A": "0, 1\n"},
        "negative": {"A": "-1, 2\n"},
        "across": {"A": "1, 4\n"},
        "words": {"A": "one, two\n"},
        "three": {"A": "1, 2, 3\n"},
        "real": {"A": "1.5, 2\n"},
        "huge": {"A": "1e30, 2\n"},
        "nan": {"node_labels": "nan\n1\n1\n1\n1\n"},
    }
    for name, change in changes.items():
        yield f"{name}.zip", zipped(TU | change), f"TU Dortmund: {name}"
    whole = zipped(TU, packed=True)
    for cut in (3, 30, len(whole) // 2, len(whole) - 10):
        yield f"cut{cut}.zip", whole[:cut], f"archive of which {cut} bytes are left"
    damaged = bytearray(zipped(TU))
    damaged[damaged.index(b"1, 2")] = ord("2")
    yield "check_sum.zip", bytes(damaged), "archive with a wrong check sum"
    stream = bytearray(whole)
    stream[45:60] = b"\xff" * 15
    yield "stream.zip", bytes(stream), "archive with damaged compression"
    locked = bytearray(zipped(TU))
    for at in (6, damaged.index(b"PK\x01\x02") + 8):
        locked[at] |= 1
    yield "locked.zip", bytes(locked), "archive with a password"
    yield "bomb.zip", zipped(TU | {"A": "1, 2\n" * 400_000}, packed=True), "archive that expands 500 times"
    yield "other.zip", zipped({"readme": "hello"}), "archive of something else"
    yield "text.zip", b"hello", "text named as an archive"


FAMILIES = (any_text, trees, graphs, archives)


def valid_structures() -> dict[str, tuple[bytes, dict[str, object]]]:
    """Return files that must be read, with how many samples they hold, and perhaps names and targets."""
    lines = "".join(json.dumps(GRAPH | {"kind": kind}) + "\n" for kind in ("acid", "base"))
    texts: dict[str, tuple[str | bytes, dict[str, object]]] = {
        "bank.mrg": (PENN, {"n": 2, "ids": ("1", "2")}),
        "bank.ptb.gz": (gzip.compress(PENN.encode()), {"n": 2}),
        "sniffed_bank.txt": (PENN, {"n": 2}),
        "no_blanks.penn": ("(A(B c)(D(E f)))(G h)", {"n": 2}),
        "page.xml": (XML, {"n": 1}),
        "old.xml": (XML.replace("?>", ' encoding="latin-1"?>').replace("words", "é").encode("latin-1"), {"n": 1}),
        "page.html": ("<!DOCTYPE html><ul><li>one<li>two", {"n": 1}),
        "odd.htm": ("<p <<a b='", {"n": 1}),
        "values.json": (TREE_JSON, {"n": 2}),
        "nested.json": ('{"a": {"b": [1, {"c": "links"}]}}', {"n": 1}),
        "deep.json": ("[" * 5000 + "]" * 5000, {"n": 1}),
        "source.py": ("def f(x):\n    return x + 1\n", {"n": 1}),
        "graph.graphml": (GRAPHML, {"n": 1, "ids": ("one",)}),
        "graphml_named.xml": (GRAPHML, {"n": 1}),
        "graphs.json": (GRAPH_JSON, {"n": 2, "y": ["acid", "acid"]}),
        "one_graph.json": (json.dumps(GRAPH, indent=1), {"n": 1}),
        "lines_of_graphs.jsonl": (lines, {"n": 2, "y": ["acid", "base"]}),
        "sniffed_graphs": (GRAPH_JSON, {"n": 2}),
        "flat.json": ('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', {"n": 2, "X": {"a": [1.0, 2.0], "b": ["x", "y"]}}),
        "some.edges": (EDGES, {"n": 2}),
        "graphs.zip": (zipped(TU), {"n": 2, "y": [-1, 1]}),
        "unsaid": (zipped(TU, packed=True), {"n": 2, "y": [-1, 1]}),
    }
    return {name: (text.encode() if isinstance(text, str) else text, found) for name, (text, found) in texts.items()}
