# SPDX-License-Identifier: Apache-2.0
"""Parameters that are wrapped again. The newest wrapper exchanges them. Python's collector may free
older wrappers at a different time at each worker. So older wrappers lose their hooks at once and
refuse to exchange.
"""

import weakref

_hooks: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()  # By exchange in use.
_replaced: "weakref.WeakSet" = weakref.WeakSet()


def replace(exchange, hooks=()):
    """Makes `exchange`, which has these hooks, exchange its parameters from now on. Replaces older
    exchanges of any of these parameters."""
    parameters = exchange.names
    for older in list(_hooks):
        if any(parameter in older for parameter in parameters):
            for hook in _hooks.pop(older):
                hook.remove()
            _replaced.add(older)
    _hooks[exchange] = hooks


def refuse_replaced(exchange):
    """Raises ValueError if a newer exchange has parameters of `exchange`."""
    if exchange in _replaced:
        raise ValueError("parameters of this optimizer or module were wrapped again since, and "
                         "only their newest wrapper exchanges them; use that one")


def _gone():
    return None


def enlist(now, references, wrapper):
    """Adds a weak reference to one of the session's lists, and clears references to replaced
    wrappers. Their entries stay, so that workers whose collectors differ have equal positions."""
    for some in (now.optimizers, now.modules, now.apart):
        some[:] = [_gone if _is_replaced(each()) else each for each in some]
    references.append(weakref.ref(wrapper))


def _is_replaced(wrapper):
    return wrapper is not None and getattr(wrapper, "_stretto_exchange", wrapper) in _replaced
