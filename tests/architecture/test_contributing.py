"""The recipes of CONTRIBUTING, followed to the letter in a copy of the repository: two files make a class known.

A class goes into a source file with the two lines that CONTRIBUTING gives, its test into another; then the map of
exports is written. What goes over all classes is asked, in a process of its own, whether it goes over the new ones.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.test_documents import blocks

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"src/mercer/export_map.py", "src/mercer/__init__.pyi"}

# class -> where it goes, and what its unit test declares
RECIPES = {
    "Overlap": (
        "kernels/vectors/overlap",
        "def overlap(x, z):\n"
        "    both = sum(a * b for a, b in zip(x, z))\n"
        "    return both / (sum(a * a for a in x) + sum(b * b for b in z) - both)\n\n\n"
        'TWINS = {"Overlap": {"formula": overlap, "signed": False}}\n',
    ),
    "LogCosh": ("losses/log_cosh", ""),
    "CenteredRidge": ("estimators/squares/centered_ridge", ""),
}

ASK = """
import json, tempfile
import numpy as np
import tests.conftest  # settings of Hypothesis
import mercer, mercer.kernels, mercer.losses
from docs import make_catalogue, make_reference
from mercer import catalogue
from mercer.cli import warmup
from mercer.io.registry import find_class
from tests.contract import test_sklearn
from tests.laws import test_accuracy, test_kernels
from tests.trust import of_estimators, of_kernels
from tests.unit.testing import test_losses

rng = np.random.default_rng(0)
X = rng.random((20, 3))
bits = (rng.random((20, 6)) < 0.4).astype(float)

def again(model, X):
    with tempfile.TemporaryDirectory() as folder:
        mercer.save(model, f"{folder}/model.mercer")
        return bool(np.all(mercer.load(f"{folder}/model.mercer").predict(X) == model.predict(X)))

def listed(rows):
    return {row.name for row in rows}

ENTRY = test_kernels.ENTRIES["Overlap"]
ROW = test_accuracy.ROWS["Overlap"]
of_kernels.ENTRIES = {"Overlap": ENTRY}  # probes of the others are not asked for
found = {
    "Overlap": {
        "public": "Overlap" in mercer.kernels.__all__ and isinstance(mercer.parse("Overlap()"), mercer.kernels.Overlap),
        "catalogued": "Overlap" in listed(catalogue.kernels()) and "Overlap" in make_catalogue.kernels_page(),
        "in the reference": "Overlap" in make_reference.page("mercer.kernels"),
        "saved": again(mercer.KernelMeanClassifier(mercer.kernels.Overlap()).fit(bits, bits[:, 0]), bits),
        "warmed up": "Overlap" in {name for name, _ in warmup._kernel_jobs()},
        "probed": len([*of_kernels.kernel_probes(), *of_kernels.parameter_probes()]) > 50,
        "under laws": test_kernels.broken_laws(ENTRY, test_kernels._claimed(ENTRY), 5) == {},
        "compared with its twin": test_accuracy._worst(ROW, test_accuracy._benign(ROW, rng), lambda s: 1e-12 * s) == [],
    },
    "LogCosh": {
        "public": "LogCosh" in mercer.losses.__all__ and mercer.parse("LogCosh(2.0)") == mercer.losses.LogCosh(2.0),
        "catalogued": "LogCosh" in listed(catalogue.losses()),
        "in the reference": "LogCosh" in make_reference.page("mercer.losses"),
        "saved": find_class("loss:LogCosh", {}, "") is mercer.losses.LogCosh,
        "under laws": mercer.losses.LogCosh in test_losses.LOSSES,
    },
    "CenteredRidge": {
        "public": "CenteredRidge" in mercer.__all__ and mercer.CenteredRidge is mercer.estimators.CenteredRidge,
        "catalogued": "CenteredRidge" in listed(catalogue.estimators()),
        "in the reference": "CenteredRidge" in make_reference.page("mercer"),
        "saved": again(mercer.CenteredRidge().fit(X, X[:, 0]), X),
        "warmed up": "CenteredRidge" in {name for name, _ in warmup._estimator_jobs()},
        "probed": mercer.CenteredRidge in of_estimators.estimator_classes(),
        "under laws": mercer.CenteredRidge in test_sklearn.ESTIMATORS,
    },
}
test_losses.test_the_losses_of_mercer(mercer.losses.LogCosh)
print(json.dumps(found))
"""


def module_of(name):
    """The source file of a class of CONTRIBUTING: its imports, the two lines, the class."""
    code = next(block.code for block in blocks(ROOT / "CONTRIBUTING.md") if f"class {name}(" in block.code)
    tree = ast.parse(code)
    cls = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    used = {node.id for node in ast.walk(cls) if isinstance(node, ast.Name)}
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    kept = [ast.unparse(node) for node in imports if used & {alias.asname or alias.name for alias in node.names}]
    lines = ["import numpy as np", *(line for line in kept if line != "import numpy as np")]
    exported = f'__all__ = ["{name}"]\n__public__ = __all__'
    return "\n".join([f'"""{name}, of CONTRIBUTING."""\n', *lines, "", exported, "", "", ast.unparse(cls), ""])


def files(root):
    found = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def python(root, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the three classes, by hand and generated files apart."""
    root = tmp_path_factory.mktemp("contribution")
    for folder in ("src", "docs", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("generated", "golden", "peers"))
    before = files(root)
    for name, (place, test) in RECIPES.items():
        *folders, file = place.split("/")
        (root / "src" / "mercer" / f"{place}.py").write_text(module_of(name), encoding="utf-8")
        target = root.joinpath("tests", "unit", *folders, f"test_{file}.py")
        target.write_text(f'"""{name}."""\n\n{test}', encoding="utf-8")
    by_hand = files(root)
    python(root, "-m", "docs.make_exports")
    after = files(root)
    return root, before.keys() ^ by_hand.keys(), {name for name in after if after[name] != by_hand.get(name)}


def test_a_class_is_two_files_by_hand(copy):
    _, by_hand, generated = copy
    assert len(by_hand) == 2 * len(RECIPES)
    packages = {f"src/mercer/{place.split('/')[0]}/__init__.pyi" for place, _ in RECIPES.values()}
    assert generated == GENERATED | packages


def test_everything_else_follows(copy):
    found = json.loads(python(copy[0], "-c", ASK).splitlines()[-1])
    missing = {name: [what for what, is_so in row.items() if not is_so] for name, row in found.items()}
    assert missing == {"Overlap": [], "LogCosh": [], "CenteredRidge": []}
