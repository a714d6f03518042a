import pytest
from sklearn.base import clone

from mercer import SVC
from mercer.choosing import Effort, KernelSearchCV
from mercer.errors import ParameterError
from mercer.kernels import Gaussian


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "luck"}, {"calls": 0}, {"restarts": -1}, {"max_time": 0.0}, {"memory": "much"}, {"n_threads": 0},
        {"checkpoint": 3}, {"random_state": -1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_arguments_are_checked(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Effort(**wrong).check()


def test_it_is_a_parameter_like_others():
    search = clone(KernelSearchCV(SVC(Gaussian(1.0)), {"C": [1.0]}, effort=Effort(max_time=3.0)))
    assert search.effort == Effort(max_time=3.0) and search.set_params(effort__max_time=5.0).effort.max_time == 5.0
    with pytest.raises(ParameterError, match="an Effort or None"):
        search.set_params(effort="much").fit([[0.0], [1.0]], [0, 1])
