# SPDX-License-Identifier: Apache-2.0
"""The ticket of an operation that is complete when it starts: an exchange of a job of one."""


class Done:
    """The ticket of an exchange without peers."""

    def wait(self):
        """Returns at once."""

    def wait_for(self, seconds):
        """True: it has ended."""
        del seconds
        return True

    def done(self):
        """True."""
        return True

    def set_priority(self, priority):
        """Changes nothing: it has ended."""

    def set_deadline(self, seconds_from_now):
        """Changes nothing: it has ended."""

    def pause(self):
        """Changes nothing: it has ended."""

    def resume(self):
        """Changes nothing: it has ended."""

    def cancel(self):
        """Changes nothing: it has ended."""
