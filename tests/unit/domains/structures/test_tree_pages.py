import time

import pytest

from mercer.domains.structures.tree_forms import Planting
from mercer.domains.structures.tree_pages import plant_html
from mercer.domains.structures.trees import Trees
from tests.clock import allowed


def grown(text, *options):
    planting = Planting()
    plant_html(planting, text, *options)
    S = Trees.assembled(planting)
    S.check()
    tree = S.nested(0)
    assert tree[0] == "#document"
    return tree[1:]


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ("<p>a<p>b", (("p", "a"), ("p", "b"))),
        ("<p>a<div>b</div>c", (("p", "a"), ("div", "b"), "c")),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", (("ul", ("li", "a", ("ul", ("li", "b"))), ("li", "c")),)),
        ("<dl><dt>a<dd>b<dt>c</dl>", (("dl", ("dt", "a"), ("dd", "b"), ("dt", "c")),)),
        ("<table><tr><td>1<td>2<tr><td>3</table>", (("table", ("tr", ("td", "1"), ("td", "2")), ("tr", ("td", "3"))),)),
        ("<select><option>a<option>b</select>", (("select", ("option", "a"), ("option", "b")),)),
        ("a<br>b<br/>c", ("a", "br", "b", "br", "c")),
        ("<B>a</b></i>", (("b", "a"),)),
        ("<b><i>a</b>c", (("b", ("i", "a")), "c")),
        ("<!doctype html><!-- <p> -->a<?x?>", ("a",)),
        ("1 < 2 &amp; 3 &lt; 4", ("1", "<", "2", "&", "3", "<", "4")),
        ("<script>if (a < b) '<p>'</script>x<style>p{}</STYLE>", ("script", "x", "style")),
        ("<title>a <b> c</title>", (("title", "a", "<b>", "c"),)),
        ("<svg><path d='M0'/>x</svg>", (("svg", ("path", ("@d", "M0")), "x"),)),
        ("", ()),
        ("<p", ()),
        ("<p a='never ends>b", ()),
    ],
)
def test_pages(text, trees):
    assert grown(text) == trees


def test_attributes():
    tree = (("a", ("@class", "x y"), "@disabled", ("@href", "?q=1&r"), "t"),)
    assert grown("<a href='?q=1&amp;r' disabled CLASS=\"x y\" class=z>t</a>") == tree
    assert grown("<a href=x>t</a>", False) == (("a", "t"),)
    assert grown("<a href=x>t<b>u</b></a>", False, False) == (("a", "b"),)


@pytest.mark.timing
@pytest.mark.parametrize(
    "piece",
    [
        "<![",
        "<!--",
        "<",
        "<a ",
        "</",
        "&#",
        "<a b='",
        "<b>",
        "</i>",
        "<b></i>",
        "<b><li>",
        "<p><b>",
        "<script>",
        "<td>",
    ],
)
def test_hostile_pages_take_linear_time(piece):
    taken = []
    for count in (5_000, 50_000):
        rounds = []
        for _ in range(2):  # the quicker of two: what else the machine does is not counted twice
            began = time.process_time()
            grown(piece * count)
            rounds.append(time.process_time() - began)
        taken.append(min(rounds))
    assert taken[1] < allowed(40) * taken[0] + 0.1
