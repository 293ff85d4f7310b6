# SPDX-License-Identifier: Apache-2.0
"""Optimizers and wrappers by mode."""
