# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""K8: keys hold what matters and nothing else.

A semantic edit changes one operator, number, name, default, global, type or option;
each must change the key. An incidental edit adds comments and space, moves the
text, or spells a default out; none may.
"""

import ast
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import tilewright
from tilewright.compiler.compiler import request_of

TEXT = '''
import math
import tilewright

class constexpr:
    def __init__(self, value):
        self.value = value

SIZE = constexpr(16)
SHIFT: constexpr = constexpr(3)
LIMITS = (1, 2, 3)

@tilewright.constexpr_function
def tuned(n):
    return n * 2 + len(LIMITS)

@tilewright.jit
def helper(a, b=4):
    c = a * b + SHIFT
    if c > 100:
        c = c - a
    return c

@tilewright.jit
def kernel(x, y, n, BLOCK: constexpr, EVEN: constexpr = True):
    """What it does."""
    total = 0
    for i in range(0, n, BLOCK):
        value = x + i * SIZE
        if EVEN and i < 7:
            total += helper(value, b=5) - tuned(BLOCK)
        else:
            total -= (value << 2) % 9
    result: constexpr = math.pi
    y = y + total * result  # the result
    return y
'''

SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32"}


def load(text, folder, name="module", counter=[0]):
    counter[0] += 1
    path = Path(folder) / f"{name}_{counter[0]}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"campaign_{counter[0]}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def key(module, signature=None, constants=None, attributes=None, options=None, target="sm_90a"):
    source = tilewright.ASTSource(module.kernel, signature or SIGNATURE, {"BLOCK": 64, **(constants or {})}, attributes)
    return request_of(source, target, options).key


# ---------------------------------------------------------------------------
# Edits
# ---------------------------------------------------------------------------

_SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.Mod: ast.BitAnd,
    ast.Gt: ast.LtE,
    ast.Lt: ast.GtE,
    ast.And: ast.Or,
}


class _Edit(ast.NodeTransformer):
    """Changes the n-th place that can be changed, in the way that `salt` chooses."""

    def __init__(self, number, salt):
        self.left, self.salt, self.what = number, salt, ""

    def _hit(self):
        self.left -= 1
        return self.left == -1

    def visit_Constant(self, node):
        if isinstance(node.value, str) or not self._hit():
            return node
        choices = (
            [1 - node.value]
            if isinstance(node.value, bool)
            else [node.value + 1 + self.salt, float(node.value) + 0.5, -node.value - 2 - self.salt]
        )
        self.what = f"constant {node.value}"
        return ast.Constant(choices[self.salt % len(choices)])

    def _swap(self, node, field):
        op = getattr(node, field)
        if type(op) in _SWAPS and self._hit():
            self.what = f"operator {type(op).__name__}"
            setattr(node, field, _SWAPS[type(op)]())
            return node
        return self.generic_visit(node)

    def visit_BinOp(self, node):
        return self._swap(node, "op")

    def visit_AugAssign(self, node):
        return self._swap(node, "op")

    def visit_BoolOp(self, node):
        return self._swap(node, "op")

    def visit_Compare(self, node):
        if type(node.ops[0]) in _SWAPS and self._hit():
            node.ops[0] = _SWAPS[type(node.ops[0])]()
            self.what = "comparison"
            return node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.simple and self._hit() and isinstance(node.target, ast.Name) and node.target.id == "result":
            self.what = "annotation"
            return ast.Assign([node.target], node.value)
        return self.generic_visit(node)

    def visit_Assign(self, node):
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id.islower() and self._hit():
            self.what = "repeated statement"
            return [node, ast.AugAssign(node.targets[0], ast.Add(), ast.Constant(self.salt + 11))]
        return self.generic_visit(node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in ("SIZE", "SHIFT") and self._hit():
            self.what = f"name {node.id}"
            node.id = {"SIZE": "SHIFT", "SHIFT": "SIZE"}[node.id]
        return node


def semantic_texts():
    """Texts that mean something else, each once."""
    seen = {ast.dump(ast.parse(TEXT))}
    for salt in range(60):
        number = 0
        while True:
            tree = ast.parse(TEXT)
            edit = _Edit(number, salt)
            # Everything below the class that stands for the annotation.
            for position, node in enumerate(tree.body[3:], 3):
                changed = edit.visit(node)
                tree.body[position] = changed
            tree.body = [n for item in tree.body for n in (item if isinstance(item, list) else [item])]
            if not edit.what:
                if edit.left >= 0:
                    break
            else:
                text = ast.unparse(ast.fix_missing_locations(tree))
                form = ast.dump(ast.parse(text))
                if form not in seen:
                    seen.add(form)
                    yield edit.what, text
            number += 1


def semantic_requests():
    """Requests for the unchanged text that mean something else."""
    for kind in ("fp16", "bf16", "fp64", "i8", "i64", "u32"):
        yield {"signature": {**SIGNATURE, "x": f"*{kind}"}}
        yield {"signature": {**SIGNATURE, "n": kind}}
    for block in (1, 2, 128, True, 64.0, None, "64", (64,)):
        yield {"constants": {"BLOCK": block}}
    yield {"constants": {"EVEN": False}}
    for name in SIGNATURE:
        yield {"attributes": {name: 16}}
    for options in (
        {"num_warps": 8},
        {"num_warps": 4},
        {"num_stages": 2},
        {"num_ctas": 2},
        {"maxnreg": 64},
        {"debug": True},
        {"enable_fp_fusion": False},
        {"launch_pdl": True},
        {"launch_cooperative_grid": True},
        {"arch": "sm_80"},
        {"default_dot_input_precision": "ieee"},
        {"max_num_imprecise_acc_default": 8},
    ):
        yield {"options": options}
    for target in ("sm_80", "sm_86", "sm_89"):
        yield {"target": target}


def incidental_texts(rng):
    """Texts of the same meaning, without end."""
    while True:
        lines, out, inside = TEXT.splitlines(), [], False
        for line in lines:
            inside = inside or line.startswith("@tilewright.jit")
            if line and not line.startswith((" ", "@", "def")):
                inside = False
            if inside and line.startswith("    ") and '"""' not in line:
                if rng.random() < 0.3:
                    out.append(rng.choice(["", "    ", "# why", "        # deep \" 'quote", "#", "\t"]))
                indent = len(line) - len(line.lstrip())
                body = line.lstrip()
                if "#" not in body and rng.random() < 0.4:
                    body += rng.choice(["  # note", " ", "\t", "   # 'it'", '  #"""'])
                if rng.random() < 0.3 and " + " in body and "#" not in body:
                    body = body.replace(" + ", rng.choice(["+", "  +  ", " +\t"]), 1)
                line = " " * indent * rng.choice([1, 1, 1]) + body
            out.append(line)
        text = "\n".join(out)
        if rng.random() < 0.3:  # another depth of indentation throughout
            step = rng.choice([2, 3, 8])
            text = "\n".join(" " * ((len(ln) - len(ln.lstrip(" "))) // 4 * step) + ln.lstrip(" ") for ln in text.split("\n"))
        if rng.random() < 0.3:
            text = "\n" * rng.randrange(1, 50) + "# moved\n" + text
        if rng.random() < 0.2:
            text = text.replace("@tilewright.jit\ndef kernel", "# decorated\n@tilewright.jit()\n# here\ndef kernel")
        if rng.random() < 0.2:
            text = text.replace("\n", "\r\n")
        if rng.random() < 0.3:
            text += "\nUNUSED = 17\n\ndef other():\n    return kernel\n"
        yield text


def _incidental_environments():
    return [
        {"TILEWRIGHT_ENABLE_FP_FUSION": "1"},
        {"TILEWRIGHT_ENABLE_FP_FUSION": "true"},
        {"TILEWRIGHT_DISABLE_LINE_INFO": "0"},
        {"TILEWRIGHT_DISABLE_LINE_INFO": "off"},
        {"TILEWRIGHT_MAX_TENSOR_NUMEL": "0x100000"},
        {"TILEWRIGHT_REMARKS": "1"},
        {"TILEWRIGHT_TIMING": "1"},
        {"HOME": "/nowhere"},
        {"TILEWRIGHT_CACHE_SIZE_MB": "7"},
    ]


# ---------------------------------------------------------------------------
# The campaign
# ---------------------------------------------------------------------------


def run(seeds=100, semantic=500, incidental=200, seed=8):
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        base = load(TEXT, folder)
        reference = key(base)
        changed = 0
        keys = {reference}
        for request in semantic_requests():
            keys.add(key(base, **request))
            changed += 1
            assert len(keys) == changed + 1, f"K8: {request} has the key of another request"
        for what, text in semantic_texts():
            if changed >= semantic:
                break
            try:
                module = load(text, folder)
            except Exception:
                continue  # the edit made no module
            assert key(module) != reference, f"K8: {what} changed nothing\n{text}"
            changed += 1
        assert changed >= min(semantic, 500), f"K8: only {changed} semantic edits"
        same = _check_incidental(folder, base, reference, incidental, rng)
        spread = _check_processes(folder, reference, seeds)
    return f"K8: {changed} semantic edits changed the key, {same} incidental ones did not, {spread} processes x 3 paths agree"


def _check_incidental(folder, base, reference, count, rng):
    texts = incidental_texts(rng)
    done = 0
    defaults = {"num_stages": 3, "num_ctas": 1, "enable_fp_fusion": True, "maxnreg": None, "debug": False}
    for name, value in defaults.items():
        assert key(base, options={name: value}) == reference, f"K8: {name} spelled out"
        done += 1
    assert key(base, constants={"EVEN": True}) == reference
    for environment in _incidental_environments():
        before = {k: os.environ.get(k) for k in environment}
        os.environ.update(environment)
        try:
            assert key(base) == reference, f"K8: {environment}"
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        done += 1
    while done < count:
        text = next(texts)
        sub = Path(folder) / f"place {done}"
        sub.mkdir(exist_ok=True)
        assert key(load(text, sub, rng.choice(["a", "module with space", "ü"]))) == reference, f"K8: incidental edit\n{text}"
        done += 1
    return done


def _check_processes(folder, reference, seeds):
    """The same key in processes of every hash seed, from three paths each."""
    program = (
        "import sys; from campaigns import keys\nprint(*{keys.key(keys.load(keys.TEXT, folder)) for folder in sys.argv[1:]})"
    )
    places = [Path(folder) / name for name in ("one", "two/deeper", "three")]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), *filter(None, sys.path)])
    for number in range(seeds):
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, places)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(number * 7919), "PYTHONPATH": path},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [reference], f"K8: seed {number} has {done.stdout}"
    return seeds
