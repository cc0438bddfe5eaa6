# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chosen configurations, by key."""


class Choices(dict):
    """Choices by key. What the native side has made of them goes, by `forget`, when one changes."""

    def __init__(self, forget):
        super().__init__()
        self._forget = forget

    def enter(self, key, config):
        """For a key that is new: nothing that is known changes."""
        super().__setitem__(key, config)

    def __setitem__(self, key, config):
        super().__setitem__(key, config)
        self._forget()

    def __delitem__(self, key):
        super().__delitem__(key)
        self._forget()

    def __ior__(self, other):
        self.update(other)
        return self

    def update(self, *args, **kwargs):
        try:
            super().update(*args, **kwargs)
        finally:  # some may have changed before one failed
            self._forget()

    def clear(self):
        super().clear()
        self._forget()

    def pop(self, *args):
        config = super().pop(*args)
        self._forget()
        return config

    def popitem(self):
        item = super().popitem()
        self._forget()
        return item


def known_choice(choices, key):
    """What was chosen for a key, or None. A library's own mapping knows `in` and `[key]`."""
    if type(choices) is Choices:
        return choices.get(key)
    return choices[key] if key in choices else None


def enter_choice(choices, key, config):
    """Keeps what was chosen."""
    if type(choices) is Choices:
        choices.enter(key, config)
    else:
        choices[key] = config
