# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks and their callers."""

from __future__ import annotations

from ... import knobs


class Hook:
    """Called around launches and around loading kernels; higher priorities come first at the entrance."""

    priority: int = 0

    def init_handle(self, module, function, name, metadata_group, hash):
        """After a kernel was loaded."""

    def destroy_handle(self, module, function, name, metadata_group, hash):
        """Before a kernel is unloaded."""

    def enter(self, metadata):
        """Before a launch."""

    def exit(self, metadata):
        """After a launch."""

    def activate(self):
        """When the first session of the hook begins to record."""

    def deactivate(self):
        """When none of its sessions records any more."""


class HookManager:
    """Which hooks are active, by session."""

    active_hooks: list = []
    session_hooks: dict = {}  # session -> {hook: whether it is active there}

    @staticmethod
    def init_handle(*args):
        for hook in list(HookManager.active_hooks):
            hook.init_handle(*args)

    @staticmethod
    def destroy_handle(*args):
        for hook in reversed(list(HookManager.active_hooks)):
            hook.destroy_handle(*args)

    @staticmethod
    def enter(metadata):
        for hook in list(HookManager.active_hooks):
            hook.enter(metadata)

    @staticmethod
    def exit(metadata):
        for hook in reversed(list(HookManager.active_hooks)):
            hook.exit(metadata)

    @staticmethod
    def register(hook, session):
        HookManager.session_hooks.setdefault(session, {})[hook] = True
        HookManager._settle()

    @staticmethod
    def activate(session=None):
        HookManager._mark(session, True)

    @staticmethod
    def deactivate(session=None):
        HookManager._mark(session, False)

    @staticmethod
    def unregister(session=None):
        if session is None:
            HookManager.session_hooks.clear()
        else:
            HookManager.session_hooks.pop(session, None)
        HookManager._settle()

    @staticmethod
    def _mark(session, is_active):
        for number, hooks in HookManager.session_hooks.items():
            if session is None or number == session:
                hooks.update(dict.fromkeys(hooks, is_active))
        HookManager._settle()

    @staticmethod
    def _settle():
        """Makes the active hooks those that some session wants, and has launches call them."""
        wanted = {hook for hooks in HookManager.session_hooks.values() for hook, is_active in hooks.items() if is_active}
        for hook in [h for h in HookManager.active_hooks if h not in wanted]:
            HookManager.active_hooks.remove(hook)
            hook.deactivate()
        for hook in wanted.difference(HookManager.active_hooks):
            hook.activate()
            HookManager.active_hooks.append(hook)
        HookManager.active_hooks.sort(key=lambda hook: hook.priority, reverse=True)
        runtime = knobs.runtime
        for chain, call in (
            (runtime.kernel_load_end_hook, HookManager.init_handle),
            (runtime.kernel_unload_hook, HookManager.destroy_handle),
            (runtime.launch_enter_hook, HookManager.enter),
            (runtime.launch_exit_hook, HookManager.exit),
        ):
            (chain.add if HookManager.active_hooks else chain.remove)(call)
