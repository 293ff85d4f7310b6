# SPDX-License-Identifier: Apache-2.0
"""Hooks that run when backward has added to a parameter's gradient.

From torch 2.1 on a parameter has such hooks. Before, the accumulating node has them, and torch
replaces that node when the parameter's type or device changes. So a hook of the parameter, which
survives, expects the node's hook. If the node's hook has not run by the end of a backward, the node
is new: the hook moves to the new node, and runs then.
"""

import weakref

import torch


def hook_gradient(parameter, hook):
    """Calls hook() whenever backward has added to `parameter.grad`. Returns an object whose
    remove() undoes this; the caller keeps it until then."""
    if hasattr(parameter, "register_post_accumulate_grad_hook"):
        return parameter.register_post_accumulate_grad_hook(lambda _: hook())
    return _NodeHook(parameter, hook)


def _node_of(parameter):
    with torch.enable_grad():
        return parameter.expand_as(parameter).grad_fn.next_functions[0][0]


class _NodeHook:
    """The hook on a parameter before torch 2.1. Thread: backward's."""

    def __init__(self, parameter, hook):
        self._parameter = parameter
        self._hook = hook
        self._is_expected = False
        # Weak references: the parameter holds these, and this object holds the parameter.
        before, added = weakref.WeakMethod(self._before), weakref.WeakMethod(self._added)

        def expect(_):
            if (call := before()) is not None:
                call()

        expect.__torch_unserializable__ = True  # Copies of the parameter lack the hook.
        self._on_parameter = parameter.register_hook(expect)
        self._call_added = lambda *_: (call := added()) and call()
        self._attach(_node_of(parameter))

    def _attach(self, node):
        self._node = node  # A node lives as long as a reference to it.
        self._on_node = node.register_hook(self._call_added)

    def remove(self):
        """Ends the calls."""
        self._is_expected = False
        self._on_parameter.remove()
        self._on_node.remove()

    def _before(self):
        self._is_expected = True
        torch.autograd.Variable._execution_engine.queue_callback(self._at_end)

    def _added(self):
        self._is_expected = False
        self._hook()

    def _at_end(self):
        if not self._is_expected:
            return
        self._is_expected = False
        node = _node_of(self._parameter)
        if node is not self._node:  # Else this backward has added nothing.
            self._on_node.remove()
            self._attach(node)
            self._hook()
