"""Bags of instances: a bag has a label, its instances have none.

Symbols: B_i the bags, x an instance, f the function of instances, b the intercept; classes -1 and +1, and a bag is
positive if one of its instances is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from mercer.arrays import Array, Bools, Floats, Indices
from mercer.constraints import Integer, OneOf
from mercer.domains import Samples, Sets
from mercer.errors import DomainError
from mercer.estimators.estimator import pack_vectors
from mercer.estimators.fits import Run, fitting
from mercer.estimators.svm.svc import SVC
from mercer.gram import Gram, GramSpec
from mercer.kernels import Kernel, MeanMap
from mercer.problems import Solution
from mercer.targets import Binary
from mercer.targets.target import Reduction, class_weights

__all__ = ["MultiInstanceSVC"]
__public__ = __all__


class MultiInstanceSVC(SVC):
    r"""Support vector classifier of bags: a bag is positive if one of its instances is, but it is not known which.

    Three machines, for a kernel k on instances:

    - ``method="set"`` compares bags as wholes, by the mean of k over all pairs of instances (`MeanMap`), and is `SVC`;
    - ``method="instances"`` (mi-SVM) finds labels of instances: those of negative bags are negative, and of each
      positive bag at least one is positive,

      .. math:: \min_{y} \min_{f, b} \; C \sum_x w_x \max(0, 1 - y_x (f(x) + b)) + \tfrac12 \|f\|^2;

    - ``method="witnesses"`` (MI-SVM) finds one instance of each positive bag that stands for it.

    The last two take turns: a machine for given labels, then labels by the machine, until nothing changes.

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces", for the set kernel; after Andrews, Tsochantaridis and
    Hofmann for the others.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On instances, as in `SVC`.
    C : float, default 1.0
        Cost of an error of size one; of instances for the last two methods.
    method : {"set", "instances", "witnesses"}, default "set"
        Which machine.
    gamma, degree, coef0 : optional
        As in `SVC`.
    n_init : int, default 1
        Starts: the first labels all instances as their bag, or takes for witnesses those that such a machine finds; the
        others are random. The one with the least objective is kept.
    max_rounds : int, default 50
        The most turns of a start.
    random_state : int or RandomState, optional
        For random starts.
    loss, class_weight : optional
        As in `SVC`.
    tol, max_iter : optional
        As in `SVC`.
    gram, memory, max_time, n_threads : optional
        As in `SVC`.

    Attributes
    ----------
    classes_ : (2,) array
        A bag of the second class has an instance of that class.
    expansion_ : Expansion
        The function: of bags for the set kernel, of instances for the other methods, whose largest value in a bag is
        that of the bag.
    objectives_ : (n_init,) array
        What each start reached; nothing for the set kernel, whose problem is convex.
    n_rounds_ : int
        Turns of the start that was kept.
    support_, n_support_, dual_coef_, intercept_, solution_
        As in `SVC`, of bags or of instances.

    Notes
    -----
    X is a list of bags (arrays, lists of objects) or packed `Sets`; a matrix is taken as bags of one instance, for
    which all three are `SVC`. A bag of weight w counts as w copies.

    Examples
    --------
    >>> from mercer import MultiInstanceSVC
    >>> from mercer.kernels import Gaussian
    >>> bags = [[[0.0], [5.0]], [[0.1], [5.2]], [[0.0], [0.2]], [[0.1], [-0.1], [0.3]]]
    >>> model = MultiInstanceSVC(Gaussian(1.0), C=10.0, method="instances").fit(bags, [1, 1, 0, 0])
    >>> model.predict([[[0.0], [0.1], [4.9]]])
    array([1])
    >>> int(model.instance_scores([[[0.0], [5.0]]])[0].argmax())  # which instance decided
    1
    """

    constraints = {
        "method": OneOf("set", "instances", "witnesses"),
        "n_init": Integer(1),
        "max_rounds": Integer(1),
    }
    of_bags = True
    multi_class = "ovo"
    probability = False
    decision_function_shape = "ovr"
    break_ties = False
    shrinking = True
    cache_size = 512
    highest_order = 0

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        method: str = "set",
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        n_init: int = 1,
        max_rounds: int = 50,
        random_state: Any = None,
        loss: str = "hinge",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.method = method
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.random_state = random_state
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    # data ---------------------------------------------------------------------------------------------

    def _pack_bags(self, X: Any) -> tuple[Sets, Kernel]:
        """Pack training bags, and return the kernel on instances."""
        if not _is_bags(X):
            S, kernel = self._pack(X)
            self._plain = True
            return _alone(S), kernel
        given = self._given_kernel()
        pack = given.pack if isinstance(given, Kernel) else lambda members: pack_vectors(members, self.kernel)
        bags = Sets.pack(X, pack)
        _, kernel = self._pack(bags.members)
        self._plain = False
        return bags, kernel

    def _pack_new(self, X: Any) -> Any:
        """Pack new bags for the function: instances where bags have one each, bags otherwise."""
        if not _is_bags(X):
            return super()._pack_new(X) if self._of_members() else _alone(self._instance_kernel().pack(X))
        self._require_fitted()
        return Sets.pack(X, self._instance_kernel().pack)

    def _require_fitted(self) -> None:
        super()._pack_new(np.empty((0, 0))) if not hasattr(self, "kernel_") else None

    def _of_members(self) -> bool:
        """Return whether the function is one of instances."""
        return not isinstance(getattr(self, "kernel_", None), MeanMap)

    def _instance_kernel(self) -> Kernel:
        self._require_fitted()
        return self.kernel_.kernel if isinstance(self.kernel_, MeanMap) else self.kernel_

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiInstanceSVC:
        """Fit the classifier.

        Parameters
        ----------
        X : list of bags, packed Sets, or a matrix of bags of one instance
        y : (n,) array
            Class labels of the bags, of two classes.
        sample_weight : (n,) array, optional
            Non-negative; a bag of weight w counts as w copies.

        Returns
        -------
        self
        """
        pack = self._pack_bags
        with fitting(self, X, y, sample_weight, Binary(), pack=pack) as (run, kernel, _, S, signs, w, used):
            codes = (signs > 0).astype(np.intp)
            self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, w)
            self.reduction_ = Reduction.of("ovo", 2)
            if not self._plain and self.method != "set" and not S.sizes.all():
                raise DomainError(
                    f"Bag {int(used[np.flatnonzero(S.sizes == 0)[0]])} is empty; method={self.method!r} looks for the "
                    "instance that decides, so that each bag needs one. Leave it out, or use method='set'."
                )
            learned = self._learned_kernel(kernel, S.members, None, S.spread(w))
            if self.method == "set" and not self._plain:
                self.kernel_, samples = MeanMap(learned), S
            else:
                self.kernel_, samples = learned, S.members
            K = self._represent(self.kernel_, samples, run, until=0.3)
            weights = w * self.class_weight_[codes], w
            if self.method == "set" or self._plain:
                coef, self.intercept_ = self._fit_parts(K, codes, weights, run)
                self.objectives_, self.n_rounds_ = np.zeros(0), 0
                self._store(K, coef, codes, used, samples)
            else:
                self._fit_turns(K, S, signs, weights[0], run)
            del self._plain
        return self

    def _fit_turns(self, K: Gram, S: Sets, signs: Floats, w: Floats, run: Run) -> None:
        """Take turns between machines and labels of instances, from several starts."""
        rng, found = check_random_state(self.random_state), []
        positive, weight = S.spread(signs) > 0, S.spread(w)
        for start in range(self.n_init):
            found.append(self._turns(K, S, positive, weight, run, rng if start else None))
        self.objectives_ = np.array([objective for objective, *_ in found])
        _, coef, bias, labels, self.n_rounds_, self.solution_ = found[int(np.argmin(self.objectives_))]
        self.intercept_ = bias
        self._weights = None
        self.n_iter_ = np.array([self.n_rounds_], dtype=np.int32)
        self._store(K, coef, labels.astype(np.intp), np.arange(len(labels)), S.members)

    def _turns(
        self, K: Gram, S: Sets, positive: Bools, weight: Floats, run: Run, rng: Any
    ) -> tuple[float, Floats, float, Bools, int, Solution]:
        labels, coef = self._first(K, S, positive, weight, run, rng)
        rounds = 0
        while True:
            rounds += 1
            taken = self._taken(labels, positive)
            coef, objective, solution, values = self._machine(K, labels, weight, taken, run, coef)
            again = self._relabelled(values, S, positive)
            if np.array_equal(again, labels) or rounds >= self.max_rounds:
                return objective, coef, -float(solution.multipliers[0]), labels, rounds, solution
            labels = again

    def _first(
        self, K: Gram, S: Sets, positive: Bools, weight: Floats, run: Run, rng: Any
    ) -> tuple[Bools, Floats | None]:
        """Return labels to start from, those of the bags or random ones, and coefficients if there are any."""
        if rng is not None:
            scores = rng.standard_normal(len(positive))
            return self._relabelled(scores, S, positive), None
        if self.method == "instances":
            return positive, None
        coef, _, _, values = self._machine(K, positive, weight, np.ones(len(positive), bool), run)
        return self._relabelled(values, S, positive), coef

    def _relabelled(self, values: Floats, S: Sets, positive: Bools) -> Bools:
        """Return labels of instances by values: the best of each positive bag, and by method all that are positive."""
        best = np.zeros(len(values), dtype=bool)
        best[_largest(values, S)] = True
        found = best if self.method == "witnesses" else best | (values > 0.0)
        return found & positive

    def _taken(self, labels: Bools, positive: Bools) -> Bools:
        """Return which instances take part: of positive bags the witnesses alone, if these are looked for."""
        return labels | ~positive if self.method == "witnesses" else np.ones(len(labels), dtype=bool)

    def _machine(
        self, K: Gram, labels: Bools, weight: Floats, taken: Bools, run: Run, start: Floats | None = None
    ) -> tuple[Floats, float, Solution, Floats]:
        """Return coefficients, objective and solution of the machine for given labels, and its values everywhere."""
        index, sign = np.flatnonzero(taken), np.where(labels, 1.0, -1.0)
        part = K if len(index) == len(sign) else K.take(index)
        program: Any = self._program(part, sign[index], weight[index])
        solution = self._solve(program, run, start=None if start is None else start[index])
        coef, product = np.zeros(len(sign)), np.zeros(len(sign))
        coef[index] = solution.coef
        support = np.flatnonzero(coef)
        K.update(support, coef[support], product)  # pyright: ignore[reportAttributeAccessIssue]  # the solver needs rows
        values = product - float(solution.multipliers[0])
        slack = np.maximum(0.0, 1.0 - sign[index] * values[index])
        cost = slack if self.loss == "hinge" else 0.5 * slack * slack
        objective = self.C * float(weight[index] @ cost) + 0.5 * float(coef @ product)
        return coef, objective, solution, values

    def _is_primal(self, K: Gram) -> bool:
        return False

    # use ----------------------------------------------------------------------------------------------

    def _evaluate(self, X: Any) -> Floats:
        T = self._pack_new(X)
        if not (isinstance(T, Sets) and self._of_members()):
            return self._finite(self.expansion_(T, self._resources()))
        if not T.sizes.all():
            raise DomainError(
                f"Bag {int(np.flatnonzero(T.sizes == 0)[0])} is empty; the value of a bag is the largest of its "
                "instances. Leave it out, or use method='set'."
            )
        values = self._finite(self.expansion_(T.members, self._resources()))
        return values[_largest(values, T)]

    def _quick_values(self, X: Any) -> Floats:
        return self._evaluate(X)

    def instance_scores(self, X: Any) -> list[Floats]:
        """Return for each bag the value of the function at each of its instances, as if it were alone in its bag.

        Parameters
        ----------
        X : list of bags, packed Sets, or a matrix of bags of one instance
        """
        T = self._pack_new(X)
        bags = T if isinstance(T, Sets) else _alone(T)
        members = bags.members if self._of_members() else _alone(bags.members)
        values = self.expansion_(members, self._resources())
        return np.split(values, bags.offsets[1:-1])

    def predict(self, X: Any) -> Array:
        """Return the class of new bags, shape (m,).

        Parameters
        ----------
        X : list of bags, packed Sets, or a matrix of bags of one instance
        """
        values = self._evaluate(X)
        return self.classes_[(values > 0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _is_bags(X: Any) -> bool:
    """Return whether these are bags rather than rows, each of which is a bag of one."""
    if isinstance(X, Samples):
        return isinstance(X, Sets)
    if not isinstance(X, (list, tuple)):
        shape = getattr(X, "shape", None)
        if shape is not None and len(shape) != 1:
            return len(shape) == 3
        array = np.asarray(X)
        listed = array.ndim == 1 and array.dtype.kind == "O" and len(array) > 0
        return listed and not isinstance(array[0], (str, bytes))  # a column of texts has a bag of one in each row
    if not len(X) or isinstance(X[0], (str, bytes, dict)):
        return False
    first: Any = next((bag for bag in X if not hasattr(bag, "__len__") or len(bag)), None)
    return hasattr(first, "__len__") and not (len(first) and np.isscalar(first[0]) and not isinstance(first[0], str))


def _alone(S: Samples) -> Sets:
    """Return bags of one instance each."""
    return Sets(S, np.arange(len(S) + 1, dtype=np.intp), np.ones(len(S)))


def _largest(values: Floats, S: Sets) -> Indices:
    """Return the place of the largest value of each bag, the first of equal ones."""
    owners = np.repeat(np.arange(len(S)), S.sizes)
    order = np.lexsort((np.arange(len(values)), -values, owners))
    return order[S.offsets[:-1]]
