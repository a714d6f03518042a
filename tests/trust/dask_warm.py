"""Imported by the process that workers are forked from: what they need is imported and compiled once.

It reads no file: the threads of the reader would not live in the workers.
"""

from tests.trust.dask_kills import JOBS, fitted

for _job in JOBS:
    if not _job.filed:
        fitted("here", _job, n_threads=1)
