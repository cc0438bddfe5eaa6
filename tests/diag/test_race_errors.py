# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the interpreter says of races and deadlocks: first line and notes, of the mistakes planted in tests/planted."""

import pytest

from planted.case import find_case
from tilewright import errors

REPORTS = {
    "races-one-result": [
        "[E0408] programs (0,0,0) and (1,0,0) write 'out'[0]",
        "program (0,0,0) writes it at races_programs.py:",
    ],
    "races-two-phases": [
        "[E0409] program (0,0,0) writes 'partial'[0] and program (3,0,0) reads it, in no order",
        "program (0,0,0) writes it at races_programs.py:",
        "let the writer release by an atomic what the reader acquires",
    ],
    "races-neighbours-in-place": [
        "[E0409] program (1,0,0) writes 'x'[16] and program (0,0,0) reads it, in no order",
        "program (0,0,0) reads it at races_programs.py:",
    ],
    "updates-counter": [
        "[E0410] programs (0,0,0) and (1,0,0) load, change and store 'out'[0]; one update is lost",
        "program (0,0,0) writes it at races_updates.py:",
        "use an atomic, such as tl.atomic_add",
    ],
    "atomics-plain-beside-atomic": [
        "[E0411] of 'out'[0], program (0,0,0) writes it and program (1,0,0) changes it by an atomic, in no order",
        "program (0,0,0) writes it at races_updates.py:",
    ],
    "atomics-block-scope": ["[E0411] of 'out'[0]", "changes it by an atomic of scope 'cta', in no order"],
    "scatter-rows-too-close": [
        "[E0412] lane [0, 4] of tile [8, 8] and lane [1, 0] of tile [8, 8] store different values in 'out'[4]; program (0,0,0)"
    ],
    "threads-shift-in-place": [
        "[E0413] a thread reads 'x'[0] and another one writes the same memory as 'y'[0]; program (0,0,0)",
        "'x' was read at races_inside.py:",
        "put tl.debug_barrier() between the two",
    ],
    "threads-reads-back-reversed": ["[E0413] a thread writes 'x'[63] and another one reads the same memory as 'y'[63]"],
    "deadlock-lock-kept": [
        "[E0414] every program that is left waits, and nothing changes: program (1,0,0) waits for 'lock'[0], which is 1",
        "'lock'[0] was changed last by program (0,0,0) at waiting_programs.py:",
        "program (3,0,0) waits for 'lock'[0], which is 1, at waiting_programs.py:",
    ],
    "deadlock-two-locks": [
        "program (0,0,0) waits for 'locks'[1], which is 1",
        "'locks'[1] was changed last by program (1,0,0)",
        "program (1,0,0) waits for 'locks'[0], which is 1",
    ],
}


@pytest.mark.parametrize("name", REPORTS)
def test_report(name):
    case = find_case(name)
    with pytest.raises(errors.InterpreterError) as info:
        case.launch(case.faulty)
    for part in REPORTS[name]:
        assert part in str(info.value)
