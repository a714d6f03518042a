"""What every test run shares: Hypothesis profiles, threads, the cache of compiled code, strict warnings.

``HYPOTHESIS_PROFILE=deep`` tries many more examples, at random; the default is fast and always the same.
``MERCER_ORDER=3`` runs the tests in a random order, the same for the same number. ``MERCER_SEEDS=3`` moves every seed
that is a number: a test that fails then has its seed by luck, unless it asserts printed numbers. ``MERCER_UNWRITTEN=1``
fills each new array that NumPy leaves as it is: arithmetic on numbers that nobody wrote is then a warning, so an error.
"""

import gc
import os
import random
import signal
import sys
from pathlib import Path

# Before NumPy and Numba are imported, since both read these once. The processes of pytest-xdist share the
# cores already, so each keeps to one BLAS thread; Numba may use two, because the tests compare one with two.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips one of its checks

# A shell that starts a command in the background has it ignore Ctrl-C, and its children too. Tests send signals to
# themselves and to their children, and must be heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "numba"
CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))

import pytest  # noqa: E402
from _pytest.doctest import DoctestModule  # noqa: E402
from _pytest.runner import runtestprotocol  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from hypothesis.internal.conjecture import providers  # noqa: E402

# Hypothesis counts the first compilation of a loop as a slow example, hence no deadline and no "too slow".
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
# Hypothesis draws constants of the modules that happen to be loaded, so that examples would depend on which tests a
# worker has run before. Without them the same examples are tried everywhere.
if hasattr(providers, "is_local_module_file"):
    providers.is_local_module_file = lambda path: False

settings.register_profile("default", max_examples=25, derandomize=True, database=None, **_COMMON)
settings.register_profile("deep", max_examples=1000, derandomize=False, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if _shift := int(os.environ.get("MERCER_SEEDS", "0")):
    import numpy

    _own_rng = numpy.random.default_rng
    numpy.random.default_rng = lambda seed=None: _own_rng(seed + 7919 * _shift if isinstance(seed, int) else seed)

if os.environ.get("MERCER_UNWRITTEN"):
    from tests.unwritten import fill_new_arrays

    fill_new_arrays()

OUR_WARNINGS = ("JitterWarning", "IndefiniteWarning", "DegenerateWarning")


def pytest_configure(config):
    """Turn our own warnings into errors: a test that means one says so by ``pytest.warns``."""
    for name in OUR_WARNINGS:
        config.addinivalue_line("filterwarnings", f"error::mercer.errors.{name}")
    if "numpy" in sys.modules:  # imported before this file by a plugin: the variables above came too late
        from threadpoolctl import threadpool_limits

        threadpool_limits(limits=1)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Pass over docstrings of tests, which have no examples: only those of the source are tried."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


_GENERATORS: dict[object, list] = {}  # of each module of tests: its random generators and their states after import


def pytest_collection_modifyitems(items):
    """Note the random generators of modules, and put the tests in another order if that is asked for."""
    from numpy.random import Generator

    from mercer.first_model import machine_choice

    machine_choice.USUAL = 3600.0  # seconds: what the first model compares must not depend on how busy this machine is
    for module in {getattr(item, "module", None) for item in items} - {None}:
        own = [value for value in vars(module).values() if isinstance(value, Generator)]
        _GENERATORS[module] = [(generator, generator.bit_generator.state) for generator in own]
    if seed := os.environ.get("MERCER_ORDER"):
        random.Random(seed).shuffle(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the collector of garbage from going through twenty thousand tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Tell one result of a test that passes, not five: telling takes longer than many a test."""
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_runtest_setup(item):
    """Give each test the same random numbers, whichever tests ran before it in this process."""
    for generator, state in _GENERATORS.get(getattr(item, "module", None), ()):
        generator.bit_generator.state = state


@pytest.fixture
def digits():
    """Return what sets the digits of mpmath, for this test alone: they belong to the process."""
    import mpmath

    before = mpmath.mp.dps
    yield lambda count: setattr(mpmath.mp, "dps", count)
    mpmath.mp.dps = before
