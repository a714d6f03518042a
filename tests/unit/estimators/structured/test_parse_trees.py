"""Parse trees: charts against lists of all trees, sums, learning, and what the grammar has not."""

import numpy as np
import pytest

from mercer import KernelCRF, ParseTrees, StructuredSVC
from mercer.errors import DomainError, TargetError
from mercer.kernels import Linear
from mercer.testing import check_output_space

# "saw the man with the glass": the phrase belongs to the man, or to the seeing
NOUN = ("VP", "V", ("NP", ("NP", "D", "N"), ("PP", "P", ("NP", "D", "N"))))
VERB = ("VP", ("VP", "V", ("NP", "D", "N")), ("PP", "P", ("NP", "D", "N")))
AMBIGUOUS = ("S", ("A", "x", "x"), "x"), ("S", "x", ("A", "x", "x")), ("S", ("A", ("A", "x", "y"), "x"), "y")


@pytest.mark.parametrize("trees", [(NOUN, VERB), AMBIGUOUS], ids=["phrases", "ambiguous"])
def test_against_all_trees(trees):
    check_output_space(ParseTrees(rule_scale=2.0), list(trees))


def test_how_many_trees_there_are():
    space = ParseTrees().learn(
        [("S", "S", "S"), ("S", "x", "x"), ("S", ("S", "x", "x"), "x"), ("S", "x", ("S", "x", "x")), "S"]
    )
    only = [parse for parse in space.outputs(4) if all(space.classes[n[2]] == "x" for n in parse.nodes if n[3] < 0)]
    assert len(only) == 5  # Catalan


def test_learning_what_a_phrase_belongs_to():
    words = np.eye(6)  # saw, the, man, with, glass, hat
    told, ask = [0, 1, 2, 3, 1, 4], [0, 1, 2, 3, 1, 5]
    for space, machine in ((ParseTrees(), StructuredSVC), (ParseTrees(), KernelCRF)):
        model = machine(Linear(), C=10.0, outputs=space).fit([words[told], words[ask]], [VERB, VERB])
        assert model.predict([words[told]])[0] == VERB and model.score([words[told]], [VERB]) == 1.0
        model = machine(Linear(), C=10.0, outputs=space).fit(
            [words[told], words[told[:3]]], [NOUN, (*NOUN[:2], NOUN[2][1])]
        )
        assert model.predict([words[ask]])[0] == NOUN


def test_what_the_grammar_has_not():
    space = ParseTrees().learn([NOUN])
    with pytest.raises(TargetError, match="not in the grammar"):
        space.encode([VERB])
    with pytest.raises(TargetError, match="binary tree"):
        ParseTrees().learn([("S", "a", "b", "c")])
    with pytest.raises(DomainError, match="no tree"):
        space.best(np.zeros((2, 4)), np.zeros(space.extras))
    assert space.sums(np.zeros((2, 4)), np.zeros(space.extras)).log_partition == -np.inf
