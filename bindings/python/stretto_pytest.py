# SPDX-License-Identifier: Apache-2.0
"""The fixtures that pytest finds where Stretto is installed. pytest imports this module in every
run, so it imports nothing of Stretto before a test uses a fixture.
"""

import pytest


@pytest.fixture
def stretto_job():
    """`stretto.testing.run`: calls a function as the workers of a real job."""
    from stretto import testing  # pylint: disable=import-outside-toplevel
    return testing.run
