"""Type aliases: names for the arrays that functions take."""

import numpy as np

from mercer import arrays


def test_every_alias_names_arrays_of_its_kind():
    kinds = {"Floats": np.floating, "Indices": np.intp, "Bools": np.bool_}
    for name, kind in kinds.items():
        assert kind.__name__ in str(getattr(arrays, name)) or "bool" in str(getattr(arrays, name))
    assert set(kinds) <= set(arrays.__all__)
