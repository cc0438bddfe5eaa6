# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A worker's share of a sweep: which configurations it measures, and what it hands back.

A sweep (sweeping.py) gives a worker one problem and one of so many parts of its
configurations. While the worker runs the problem, its share is the current one of the
thread: every tuner that is met measures the configurations of that part alone, from what
the sweep knows already, and leaves its table here.

A part holds every n-th configuration, in the order that the tuner has them after pruning.
So the configurations need not be known beforehand, and a part that was lost with its
worker can be cut into two. The last share of a problem names its configurations: the leaders
of all parts, which one worker measures side by side, because no two boards are alike.
"""

from __future__ import annotations

import contextvars
import math

from .table import FINAL, identity_of_board

_current: contextvars.ContextVar = contextvars.ContextVar("share", default=None)


def current():
    """The share that this thread works at, or None."""
    return _current.get()


class NothingToLaunch(Exception):
    """No configuration of this part works, so the problem's function cannot go on; others have more."""


class AnotherBoard(Exception):
    """This worker has another board, driver or compiler than the sweep."""


class Share:
    """Part `part` of `parts`, or the configurations that `leaders` names by table and identity."""

    def __init__(self, part=0, parts=1, leaders=None, board=None, seconds=math.inf, spent=0.0, tables=()):
        self.part, self.parts, self.leaders = part, parts, leaders
        self.board = board  # a text that the board's identity has to contain; None takes any
        self.seconds = seconds  # after these nothing more is begun: the sweep hears of what is done
        self.spent = spent  # on this part, in earlier turns
        self.known = {
            header["fields"]["kernel"] + header["fields"]["key"] + identity_of_board(header["fields"]): header
            for header in tables
        }
        self.taken: list = []  # (table, identities of its configurations in this share)
        self.is_cut_short = False
        self.measured = 0  # configurations, in this turn

    @property
    def decides(self):
        """Whether the best of this share is the best of all."""
        return self.leaders is not None or self.parts == 1

    def __enter__(self):
        self._token = _current.set(self)
        return self

    def __exit__(self, *error):
        _current.reset(self._token)

    # -- what a tuner asks -------------------------------------------------------

    def take(self, table, by_identity, is_searched):
        """The configurations of this share, whose table starts from what the sweep knows."""
        board = identity_of_board(table.fields)
        if self.board is not None and self.board not in board:
            raise AnotherBoard(board)
        table.known = self.known.get(table.fields["kernel"] + table.fields["key"] + board, {}).get("records", {})
        if self.leaders is not None:
            named = self.leaders.get(table.key, ())
            own = {i: c for i, c in by_identity.items() if i in named} or by_identity
        elif is_searched:  # each batch of a search follows from the one before it
            own = by_identity if self.part == 0 else {}
        else:
            own = {i: c for n, (i, c) in enumerate(by_identity.items()) if n % self.parts == self.part}
        self.taken.append((table, own))
        if not own:
            raise NothingToLaunch
        return own

    def records(self, table) -> dict:
        """What is known of this share's configurations; those that others work at are none of its business."""
        _, own = self.taken[-1]
        return {i: r for i, r in table.records.items() if i in own}

    def begins_anew(self, table):
        """The leaders' figures count no longer: each was measured beside others than these."""
        for identity in (self.leaders or {}).get(table.key, ()):
            if identity in table.records:
                table.records[identity] = {**table.records[identity], "status": "ready", "samples": []}

    # -- what the sweep hears ----------------------------------------------------

    def tables(self) -> list:
        """Headers of the tables that were met, with the records of this share alone."""
        found = []
        for table, own in self.taken:
            header = table.header()
            header["records"] = {i: r for i, r in table.records.items() if i in own}
            header["best"] = table.best if self.decides or table.best in own else None
            found.append(header)
        return found

    def left(self) -> int:
        """How many configurations the next turn has to go on with."""
        if not self.is_cut_short:
            return 0
        return sum(table.records.get(i, {}).get("status") not in FINAL for table, own in self.taken for i in own)
