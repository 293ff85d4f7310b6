# SPDX-License-Identifier: Apache-2.0
"""Exchange of gradients as backward makes them: hooks, buckets, late gradients."""
