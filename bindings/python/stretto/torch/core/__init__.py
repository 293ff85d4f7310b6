# SPDX-License-Identifier: Apache-2.0
"""What every wrapper needs: agreement among workers, exchanges, names on the wire, codecs."""
