"""The documentation is what its scripts make, includes what exists, fetches nothing, and its gallery runs.

That the code of its pages runs and that links lead somewhere is tested with the other documents.
"""

import functools
import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from docs import check_links, make_catalogue, make_equations, make_performance, make_reference, make_trust
from docs.pages import cell, outdated, table
from mercer import catalogue
from mercer.cli.application import application
from tests.architecture.test_documents import COMMANDS, blocks, run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "generated" not in path.parts)
SOURCES = [*PAGES, *(path for end in ("py", "css", "rst") for path in sorted(DOCS.rglob(f"*.{end}")))]
GALLERY = sorted((DOCS / "gallery").rglob("plot_*.py"))
LONG = {
    "plot_07_error_distribution",
    "plot_11_virtual_support_vectors",
    "plot_13_co2",
    "plot_15_mixture_of_processes",
    "plot_21_reduced_set",
    "plot_27_nodes",
    "plot_34_persistence",
    "plot_51_fast_gauss",
    "plot_55_criteria",
    "plot_58_processes_that_change",
    "plot_68_networks",
}
INCLUDE = re.compile(r"```\{include\} (\S+)\n:start-after: \"(.+)\"\n:end-before: \"(.+)\"\n```")
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


@functools.cache
def pages_of(script):
    return script.pages()


def name_of(path: Path) -> str:
    return str(path.relative_to(DOCS))


@pytest.mark.parametrize(
    "script", [make_catalogue, make_performance, make_reference, make_trust], ids=lambda script: script.__name__
)
def test_generated_pages_are_up_to_date(script):
    assert not outdated(pages_of(script)), f"run: python -m {script.__name__}"


@pytest.mark.parametrize("script", [make_catalogue, make_reference], ids=lambda script: script.__name__)
def test_no_generated_page_is_left_over(script):
    assert {*script.FOLDER.glob("*.md")} == {*pages_of(script)}


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for tree in TREE.findall(page.read_text(encoding="utf-8")):
            entries = [line for line in tree.split("\n") if line and not line.startswith(":")]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert not [name_of(page) for page in PAGES if page not in listed and page != DOCS / "index.md"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "{include}" in page.read_text(encoding="utf-8")], ids=name_of
)
def test_what_is_included_exists(page):
    found = INCLUDE.findall(page.read_text(encoding="utf-8"))
    assert found
    for target, start, end in found:
        text = (page.parent / target).read_text(encoding="utf-8")
        assert text.count(f"{start}\n") == 1
        assert end in text.partition(start)[2]


def test_nothing_is_fetched():
    addresses = [
        name_of(path)
        for path in SOURCES
        if "generated" not in path.parts
        and re.search(r"https?:/" + r"/(?!www\.w3\.org/)", path.read_text(encoding="utf-8"))  # a name of a language
    ]
    assert not addresses
    configuration = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert "intersphinx" not in configuration
    assert 'html_math_renderer = "mathml"' in configuration


@pytest.mark.parametrize(
    "script",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem in LONG), id=name_of(path)) for path in GALLERY],
)
def test_the_gallery_runs(script, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    monkeypatch.chdir(script.parent)  # as the builder of the gallery runs it: there, as a program, without __file__
    exec(compile(script.read_text(encoding="utf-8"), name_of(script), "exec"), {"__name__": "__main__", "__doc__": ""})
    assert pyplot.get_fignums()
    pyplot.close("all")


@pytest.mark.parametrize(("name", "written"), COMMANDS.items())
def test_the_commands_on_the_pages_about_the_command_line_run(tmp_path, monkeypatch, name, written):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "how-to" / f"{name}.md"
    ran = []
    for block in blocks(page):
        if block.language == "python":
            run(block, page, {"__name__": "__main__"})
        for line in block.code.splitlines() if block.language == "console" else ():
            program, *arguments = shlex.split(line)
            assert program == "mercer"
            result = CliRunner().invoke(application, arguments)
            assert result.exit_code == 0, f"{line}\n{result.output}"
            ran.append(arguments[0])
    assert {"check", "fit", "predict"} <= set(ran)
    assert {path.name for path in tmp_path.iterdir()} >= written


def test_formulas_may_stand_in_a_cell():
    assert make_catalogue.formula(r"\|x - x'\|^2 |y|") == r"$\Vert x - x'\Vert ^2 \vert y\vert$"
    assert make_catalogue.formula("") == ""


@pytest.mark.parametrize(
    ("written", "grouped"),
    [
        (r"\|f\|^2", r"{\| f\|}^2"),
        (r"\exp(-|x - x'|^p)", r"\exp(-{| x - x'|}^p)"),
        (r"||x| - |y||^2", r"{| {| x|} - {| y|}|}^2"),
        (r"\langle x, x' \rangle^d", r"{\langle  x, x' \rangle}^d"),
        (r"p(y | x) p(z | y)", r"p(y | x) p(z | y)"),
        (r"\left\|f\right\|^2", r"\left\|f\right\|^2"),
        (r"\|q^*\|^2 + |a| |b|", r"{\| q^*\|}^2 + {| a|} {| b|}"),
    ],
)
def test_an_exponent_belongs_to_the_whole_norm(monkeypatch, written, grouped):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    from mathml import fenced

    assert fenced(written) == grouped


def test_keys_of_sources_lead_to_their_page(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    from plain_docstrings import SOURCE, escaped

    assert escaped("Seed: [HSS] Eq. (30).") == "Seed: :ref:`[HSS] <source-hss>` Eq. (30)."
    page = (DOCS / "sources.md").read_text(encoding="utf-8")
    assert {f"(source-{key.lower()})=" for key in make_equations.SEEDS} == set(re.findall(r"\(source-\w+\)=", page))
    assert all(SOURCE.fullmatch(f"[{key}]") for key in make_equations.SEEDS)


def test_keys_of_sources_are_known():
    keys = {
        key
        for _, member in make_equations.public()
        for key in re.findall(r"\[([A-Z]{2,5})\]", catalogue.seed_of(member.__doc__ or ""))
    }
    assert keys == set(make_equations.SEEDS)


def test_neighbours_exist_and_other_names_are_told(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    import neighbours

    for name, others in neighbours.INSTEAD.items():
        assert catalogue.named(name) is not None
        assert name not in {other for other, _ in others}
    told = neighbours.advice(catalogue.named("Gaussian").cls)
    assert "RBF" in told[0]
    assert "~mercer.kernels.Matern" in told[2]
    assert "~mercer.kernels.Wendland`: Wendland kernel" in "\n".join(
        neighbours.advice(catalogue.named("Epanechnikov").cls)
    )
    alone = [page.name for page in neighbours.documented().values() if not neighbours.nearest(page)]
    assert len(neighbours.documented()) > 700 and not alone


def test_pages_of_modules_open_with_their_purpose_and_neighbours():
    names = [name for name in make_reference.MODULES if make_reference.exists(name)]
    assert set(names) <= set(make_reference.PURPOSES) == set(make_reference.MODULES)
    for name in names:
        purpose, others = make_reference.PURPOSES[name]
        head = make_reference.page(name).partition("```")[0]
        assert purpose in head and others
        assert {other for other, _ in others} <= {*names} - {name}


def test_performance_tells_losses_too(tmp_path):
    rows = [
        {"contender": "mercer", "figure": 2.0, "unit": "s"},
        {"contender": "peer", "figure": 1.0, "unit": "s", "ratio": 0.5, "bar": ">= 1", "met": False},
    ]
    machine = {"load": 0.1, "cpu": "EPYC 1", "cores": 2, "memory_gib": 8, "system": "Linux", "versions": {"numpy": "2"}}
    run = {"quick": False, "time": "2026-01-02", "machine": machine, "sizes": {"a": "n = 3"}, "rows": {"a": rows}}
    path = tmp_path / "cpu.jsonl"
    older = {**run, "time": "2026-01-01", "rows": {"a": []}}
    quick = {**run, "time": "2026-01-03", "quick": True, "rows": {"a": []}}
    path.write_text("\n".join(json.dumps(one) for one in (older, run, quick)))
    rows = make_performance.newest(path)
    found = make_performance.lines(rows)
    assert found == [["`a`", "n = 3", "peer", "2 s", "1 s", "0.5", ">= 1, **missed**", "2026-01-02"]]
    head = make_performance.told(rows, found)
    assert make_performance.processor(rows) == "EPYC 1, 2 cores"
    assert head.startswith("8 GiB") and "1 of 1 comparisons miss their bar: `a` beside peer" in head


def test_the_picture_of_performance_has_a_mark_for_each_ratio_and_processor():
    measured = {"one": {"a / <peer>": 0.5, "b / peer": 1000.0}, "other": {"b / peer": 10.0}}
    drawn = ElementTree.fromstring(make_performance.picture(measured))
    marks = [text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if text.get("class")]
    assert [text.get("class") for text in marks] == ["loss", "win", "win"]
    powers = [(float(text.get("x")) - make_performance.LEFT) / make_performance.ACROSS - 1.0 for text in marks]
    np.testing.assert_allclose(powers, [np.log10(0.5), 3.0, 1.0], atol=0.01)
    names = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if text.get("text-anchor") == "end"]
    assert names == ["a / <peer>", "b / peer"]


def test_trust_shows_what_is_there_and_what_is_not():
    machine = {"processor": "EPYC 1", "python": "3.12"}
    good = {"goal": 1, "name": "a", "met": True, "figure": "3 | 3", "seconds": 1}
    bad = {"goal": 2, "name": "b", "met": False, "figure": "1 bad", "seconds": 1}
    none = {"goal": 3, "name": "c", "met": None, "figure": "not measured", "seconds": 0}
    first = make_trust.merged([], {"machine": machine, "rows": [good, bad, none]}, "2026-01-01", "abc")
    page = make_trust.page(first)
    assert "Of 3 goals 1 are met, 1 missed and 1 not measured." in page
    assert r"| 1 | a | met | 3 \| 3 | 2026-01-01 | EPYC 1, Python 3.12 |" in page
    assert "| 3 | c |  | not measured |  |  |" in page
    later = [{**good, "met": None}, {**bad, "met": True, "figure": "0 bad"}, {**none, "name": "C"}, {**none, "goal": 4}]
    again = make_trust.merged(first, {"machine": machine, "rows": later}, "2026-02-02", "def")
    assert [(row["met"], row.get("measured")) for row in again] == [
        (True, "2026-01-01"),
        (True, "2026-02-02"),
        (None, None),
        (None, None),
    ]
    assert again[2]["name"] == "C"


def test_costs_in_the_catalogue_are_whole():
    lines = make_catalogue.kernels_page().splitlines()
    costs = [cell(row.cost) for row in catalogue.kernels() if "|" in row.cost]
    assert costs
    assert not [cost for cost in costs if not any(f"| {cost} |" in line for line in lines)]


def test_kernels_stand_by_what_they_compare():
    headings = re.findall(r"^### (.+)", make_catalogue.kernels_page(), re.MULTILINE)
    assert headings[0] == "Kernels on vectors of numbers"
    assert headings.index("Kernels on strings of symbols") < headings.index("Kernels made of kernels")


def test_tables_are_markdown():
    assert table(["a", "b"], [["1", cell("x|y")]]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n"


def test_links_that_lead_nowhere_are_found(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    (tmp_path / "picture.png").touch()
    (tmp_path / "index.html").write_text('<h1 id="top">x</h1> <a href="a/b.html#here">b</a> <img src="picture.png">')
    (tmp_path / "a" / "b.html").write_text('<p id="here"> <a href="../index.html#top">x</a> <a href="mailto:x">')
    assert check_links.main(tmp_path) == 0
    (tmp_path / "a" / "b.html").write_text('<p id="there"> <a href="#here">x</a> <img src="../none.png">')
    assert check_links.main(tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a/b.html: #here",
        "a/b.html: ../none.png",
        "index.html: a/b.html#here",
    ]
