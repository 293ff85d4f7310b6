# SPDX-License-Identifier: Apache-2.0
"""As Horovod's module of that name."""

from stretto.torch.elastic.state import ObjectState, State, TorchState

__all__ = ["ObjectState", "State", "TorchState"]
