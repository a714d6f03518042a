import numpy as np
from matplotlib import pyplot

from mercer import SVC
from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.plots import CostPathDisplay
from mercer.selection import svm_path


def test_counts_are_those_of_machines():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    path = svm_path(Dense().build(Gaussian(1.0), Vectors.pack(X)), y, C_min=0.1, C_max=10.0)
    display = CostPathDisplay.from_path(path)
    assert np.all(display.left + display.elbow + display.right == 30)
    C = float(np.sqrt(path.C[3] * path.C[4]))
    machine = SVC(Gaussian(1.0), C=C, tol=1e-8).fit(X, y)
    assert len(machine.support_) == display.left[3] + display.elbow[3]
    assert display.ax_.get_xlabel() == "C"
    pyplot.close("all")
