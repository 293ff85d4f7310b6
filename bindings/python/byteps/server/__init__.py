# SPDX-License-Identifier: Apache-2.0
"""byteps.server: importing it turns the process into the scheduler or a server of the job, as
DMLC_ROLE says, and does not return.
"""

from stretto import roles

roles.become(roles.role_from_environment())
