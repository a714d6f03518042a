"""Kernels on samples of several tasks: what all tasks share, and what each has for itself."""

from __future__ import annotations

from typing import Any

from mercer.arguments import checked
from mercer.constraints import InstanceOf, Interval
from mercer.kernels.kernel import Kernel
from mercer.kernels.strings.spectrum import Match

__all__ = ["task_kernel"]
__public__ = __all__


@checked(kernel=InstanceOf(Kernel), rho=Interval(0.0, 1.0))
def task_kernel(kernel: Kernel, task: Any, rho: float = 0.5) -> Kernel:
    r"""Return the kernel of functions that are a shared one plus one for each task.

    .. math:: k((x, t), (x', t')) = (\rho + (1 - \rho) [t = t']) \, k(x, x')

    Seed: [STS] Section 3, regularised multi-task learning, after Evgeniou and Pontil.

    Parameters
    ----------
    kernel : Kernel
        Of the samples; in a table of the columns it names by ``.on``, or of what is not the task.
    task : str or int
        The column of the task: texts, whole numbers or booleans.
    rho : float, default 0.5
        The share of what the tasks have in common: with 0 each task is learned alone, 1 is one task.

    Returns
    -------
    Kernel
        ``(rho + (1 - rho) * Match().on(task)) * kernel``, ordinary kernel algebra.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> k = task_kernel(Linear().on(["hours"]), "school", rho=0.25)
    >>> k({"hours": [1.0, 2.0, 2.0], "school": ["a", "a", "b"]})
    array([[1. , 2. , 0.5],
           [2. , 4. , 1. ],
           [0.5, 1. , 4. ]])
    """
    return (float(rho) + (1.0 - float(rho)) * Match().on(task)) * kernel
