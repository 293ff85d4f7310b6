# SPDX-License-Identifier: Apache-2.0
"""Horovod's names for Stretto: see stretto.horovod.torch."""
