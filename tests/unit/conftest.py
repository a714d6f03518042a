"""What unit tests of several packages share."""

import pytest


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    """Two workers that are threads of this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        local_directory=tmp_path_factory.mktemp("workers"),
        silence_logs=50,
    ) as found:
        yield found.scheduler_address
