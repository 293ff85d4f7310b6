# SPDX-License-Identifier: Apache-2.0
"""Parameters that are wrapped again. The newest wrapper exchanges them. Python may keep older ones
alive until its collector finds them, at another time at each worker, so these lose their hooks at
once and refuse to exchange.
"""

import weakref

_hooks: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()  # By exchange, of those in use.
_replaced: "weakref.WeakSet" = weakref.WeakSet()


def replace(exchange, hooks=()):
    """From now on `exchange`, which has these hooks, exchanges its parameters. Older exchanges of
    any of them are replaced."""
    parameters = exchange.names
    for older in list(_hooks):
        if any(parameter in older for parameter in parameters):
            for hook in _hooks.pop(older):
                hook.remove()
            _replaced.add(older)
    _hooks[exchange] = hooks


def refuse_replaced(exchange):
    """ValueError if a newer exchange has parameters of this one."""
    if exchange in _replaced:
        raise ValueError("parameters of this optimizer or module were wrapped again since, and "
                         "only their newest wrapper exchanges them; use that one")


def _gone():
    return None


def enlist(now, references, wrapper):
    """Adds a weak reference to one of the session's lists, and takes out of them what was
    replaced: its place stays, so that workers whose collectors differ have the same places."""
    for some in (now.optimizers, now.modules, now.apart):
        some[:] = [_gone if _is_replaced(each()) else each for each in some]
    references.append(weakref.ref(wrapper))


def _is_replaced(wrapper):
    return wrapper is not None and getattr(wrapper, "_stretto_exchange", wrapper) in _replaced
