# SPDX-License-Identifier: Apache-2.0
"""Local steps between rounds of parameters."""
