"""Trees of short sentences of the Penn treebank, by counting and by conditional models.

`python -m benchmarks.parsing [WORDS [SENTENCES]]` reads treebank_sample.csv.gz in the folder that MERCER_DATA names.
Sentences have at most WORDS words (10), not counting punctuation and empty elements, which are removed; functions of
labels (NP-SBJ) are dropped, chains of single children joined (S+VP), and longer rules made binary from the right, with
the label of the parent ("NP|"). The tags of the words are given, and right: the question is the tree alone. Four files
of five are learned. Printed are F1 of the labelled spans of more than one word, with these steps undone, and CPU
seconds.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from mercer import KernelCRF, ParseTrees, StructuredPerceptron, StructuredSVC
from mercer.kernels import Linear

Tree = Any  # (label, child, ...), or the text of a tag
PUNCTUATION = {",", ".", ":", "``", "''", "-LRB-", "-RRB-", "#", "$", "-NONE-"}


def read(text: str) -> Tree | None:
    """Return the tree of a bracketed text without words, functions and punctuation; None if nothing is left."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"\(|\)|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            if len(done) == 2 and isinstance(done[1], str) and not isinstance(done[1], Word):
                node: Tree | None = None if done[0] in PUNCTUATION else Word(done[0])
            else:
                children = [child for child in done[1:] if child is not None]
                node = (re.split(r"[-=|]", done[0])[0], *children) if children else None
            stack[-1].append(node)
        else:
            stack[-1].append(token)
    return stack[0][0]


class Word(str):
    """The tag of a word, as distinguished from the word."""


def binary(tree: Tree) -> Tree:
    """Return a tree whose nodes have two children: single ones are joined, several nested to the right."""
    if isinstance(tree, Word):
        return str(tree)
    label, *children = tree
    while len(children) == 1:
        if isinstance(children[0], Word):
            return f"{label}+{children[0]}"
        label, children = f"{label}+{children[0][0]}", list(children[0][1:])
    parts = [binary(child) for child in children]
    while len(parts) > 2:
        parts[-2:] = [(f"{label}|", *parts[-2:])]
    return (label, *parts)


def spans(tree: Tree, start: int = 0) -> tuple[int, Counter[tuple[int, int, str]]]:
    """Return the end of a binary tree and its labelled spans of several words, with what was joined taken apart."""
    if isinstance(tree, str):
        return start + 1, Counter()
    middle, found = spans(tree[1], start)
    end, more = spans(tree[2], middle)
    found += more
    if not tree[0].endswith("|"):
        found.update((start, end, label) for label in tree[0].split("+"))
    return end, found


def tags_of(tree: Tree) -> list[str]:
    """Return the tags of a binary tree, in order; single children that were joined to them are not known in advance."""
    return [tree.rpartition("+")[2]] if isinstance(tree, str) else [*tags_of(tree[1]), *tags_of(tree[2])]


def f1(truth: list[Tree], guesses: list[Tree | None]) -> float:
    """Return F1 of the labelled spans; a sentence without a guess has none."""
    pairs = [(spans(a)[1], spans(b)[1] if b is not None else Counter()) for a, b in zip(truth, guesses, strict=True)]
    both = sum((a & b).total() for a, b in pairs)
    return 2.0 * both / sum(a.total() + b.total() for a, b in pairs)


def counted(trees: list[Tree], rows: list[Any], width: int) -> tuple[ParseTrees, Any]:
    """Return the grammar, and the function from a sentence to its best tree by shares of rules and of tags."""
    space = ParseTrees().learn(trees)
    codes = space.encode(trees)
    uses = np.bincount([n[3] for parse in codes for n in parse.nodes if n[3] >= 0], minlength=space.extras)
    rules = np.log(uses / np.bincount(space.rules[:, 0], uses)[space.rules[:, 0]])
    table = np.full((space.width, width), 1e-3)
    for sample, parse in zip(rows, codes, strict=True):
        for i, _, label, rule in parse.nodes:
            if rule < 0:
                table[np.searchsorted(space.tags, label), np.argmax(sample[i])] += 1.0
    table = np.log(table / table.sum(axis=1, keepdims=True))
    return space, lambda sample: space.decode([space.best(sample @ table.T, rules)])[0]


def main(most: int = 10, count: int = 100_000) -> None:
    """Print F1 and CPU seconds of each model."""
    with gzip.open(Path(os.environ["MERCER_DATA"]) / "treebank_sample.csv.gz", "rt", encoding="utf-8", newline="") as h:
        lines = [(int(row["file"]), read(row["tree"])) for row in csv.DictReader(h)]
    trees = [(file, binary(tree)) for file, tree in lines if tree is not None]
    trees = [(file, tree) for file, tree in trees if not isinstance(tree, str) and len(tags_of(tree)) <= most][:count]
    names = sorted({tag for _, tree in trees for tag in tags_of(tree)})

    def vectors(tree: Tree) -> Any:
        return np.eye(len(names))[[names.index(tag) for tag in tags_of(tree)]]

    y = [tree for file, tree in trees if file % 5]
    truth = [tree for file, tree in trees if not file % 5]
    X, T = [vectors(tree) for tree in y], [vectors(tree) for tree in truth]
    space, best = counted(y, X, len(names))
    print(f"{len(y)} sentences of at most {most} words learned, {len(truth)} parsed; {space.extras} rules")
    began = time.process_time()
    print(
        f"by counting           F1 {f1(truth, [best(sample) for sample in T]):.3f}  {time.process_time() - began:.0f} s"
    )
    for model in (
        StructuredPerceptron(Linear(), outputs=ParseTrees(), max_iter=10),
        KernelCRF(Linear(), C=1.0, outputs=ParseTrees(), tol=1e-2),
        StructuredSVC(Linear(), C=1.0, outputs=ParseTrees(), tol=0.1),
    ):
        began = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - began
        print(f"{type(model).__name__:21} F1 {f1(truth, model.predict(T)):.3f}  {seconds:.0f} s to learn", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
