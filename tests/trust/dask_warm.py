"""Imported by the process that workers are forked from: what they need is imported and compiled once."""

from tests.trust.dask_kills import JOBS, fitted

for _job in JOBS:
    fitted("here", _job, n_threads=1)
