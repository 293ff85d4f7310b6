# SPDX-License-Identifier: Apache-2.0
"""Groups of workers, and collectives among them."""
