# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of modules and optimizers."""
