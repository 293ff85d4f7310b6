# SPDX-License-Identifier: Apache-2.0
"""The map of rooms: each folder of an area, lowest floor first, and the rooms of the same area that
its files may include. What areas may include of one another is FLOORS in rules_structure.py.
"""

# Areas whose folders are rooms. A folder below one of these needs an entry in ROOMS.
AREAS = ()

ROOMS = {}


def area_of(folder):
    """The area that holds `folder`, or None."""
    return next((area for area in AREAS if folder == area or folder.startswith(area + "/")), None)
