# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guesses how a kernel is launched: the type of each argument and the value of each constant.

In this order: what the first configuration of a tuner says, literals at a launch in the same
checkout, the parameter's annotation and default, how the kernel uses it (kernel_facts.py), and its name.
A guess has variants, since flags and element types exclude one another: the caller compiles the first that works.
"""

import ast
import re
from dataclasses import dataclass, field

from suites.kernel_facts import Facts

_INTEGER_NAMES = re.compile(
    r"idx|indices|index|_ids?$|^ids?$|seqlen|cu_|lens?$|length|offsets?$|table|slot|mapping|expert|req_|b_loc|start|label|target|"
    r"token|count|histogram|cumsum|lock|perm|sorted|split_sizes|position|topk_i|chunk_i|rank|num_|step$|seed|segment"
)
_FLOAT_NAMES = re.compile(
    r"eps|scale|alpha|beta|gamma|lr$|decay|prob|^p$|dropout|softcap|soft_cap|theta|temperature|slope|"
    r"momentum|threshold|limit|value$|factor|rate|^q_max|_min$|_max$|weight_decay|bias_correction|smoothing"
)
_FLOAT32_NAMES = re.compile(
    r"scale|lse|^l$|^m$|_l$|_m$|delta|mean|rstd|var$|logsumexp|amax|absmax|loss|max_|sum|norm_|inv_|cos|sin|"
    r"partial|acc|workspace|decay|dt_|^a_log|state"
)
_FLAG_NAMES = re.compile(
    r"^(is|has|use|do|store|load|output|return|with|need|enable|even|apply|allow|add|save|skip|no|"
    r"mask|compute|update|reverse|causal|varlen|transpose|fuse)_?|_flag$|causal|transpose"
)
_ELEMENT_TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int1": "i1",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
}
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
# What variants change: (element type of data, value of flags, side of square tiles).
VARIANTS = (
    ("fp16", True, 64),
    ("fp16", False, 64),
    ("fp32", True, 64),
    ("bf16", False, 32),
    ("fp32", False, 32),
    ("i32", False, 64),
    ("u8", False, 64),
    ("fp16", True, 16),
    ("fp8e4nv", False, 64),
)
_MISSING = object()


@dataclass
class Guess:
    """The arguments of `ASTSource` and of its options."""

    signature: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    divisibility: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)


def unwrapped(kernel):
    """(the jit function or None, constants and options of the first configuration, functions of heuristics)."""
    constants, options, functions = {}, {}, {}
    while kernel is not None and not hasattr(kernel, "params") and hasattr(kernel, "fn"):
        configurations = getattr(kernel, "configs", None)
        if isinstance(configurations, (list, tuple)) and configurations:
            configuration = configurations[len(configurations) // 2]
            constants.update(getattr(configuration, "kwargs", {}))
            options.update({name: getattr(configuration, name, None) for name in _OPTIONS})
        if isinstance(getattr(kernel, "values", None), dict):
            functions.update(kernel.values)
        kernel = kernel.fn
    if not hasattr(kernel, "params") or not hasattr(kernel, "fn"):
        kernel = None
    return kernel, constants, {k: v for k, v in options.items() if isinstance(v, int)}, functions


def _tree_of(jit_function):
    """The `ast.FunctionDef` of a jit function of either compiler."""
    tree = ast.parse(jit_function.src) if isinstance(getattr(jit_function, "src", None), str) else jit_function.parse()
    return tree.body[0] if isinstance(tree, ast.Module) else tree


def resolver(scope):
    """Looks functions up in the globals of a kernel: their tree, and the resolver of their own names."""

    def resolve(node):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        value = scope.get(node.id)
        for part in parts:
            value = getattr(value, part, None)
        value = unwrapped(value)[0] if hasattr(value, "fn") else value
        module = getattr(value, "__module__", None) or ""
        if not hasattr(value, "params") or not isinstance(module, str) or module.split(".")[0] in ("triton", "tilewright"):
            return None
        try:
            return _tree_of(value), resolver(value.fn.__globals__)
        except Exception:  # noqa: BLE001 - a stranger's object may raise anything
            return None

    return resolve


class Launch:
    """A launch found in the checkout: expressions of the arguments, evaluated where they are literals."""

    def __init__(self, call, around, scope, parameters):
        self.scope = scope
        self.locals = {}
        for node in ast.walk(around) if around is not None else ():
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.locals.setdefault(node.targets[0].id, node.value)
        for name, default in _defaults(around).items():
            self.locals.setdefault(name, default)
        positional = [a for a in call.args if not isinstance(a, ast.Starred)]
        self.expressions = dict(zip(parameters, positional)) if len(positional) == len(call.args) else {}
        self.expressions.update({k.arg: k.value for k in call.keywords if k.arg})

    def value(self, name, depth=0):
        """The literal given for a parameter, or _MISSING."""
        return self._evaluate(self.expressions.get(name), 0)

    def _evaluate(self, node, depth):
        if node is None or depth > 3:
            return _MISSING
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return self._evaluate(self.locals[node.id], depth + 1)
            value = self.scope.get(node.id, _MISSING)
            return value if isinstance(value, (bool, int, float, str)) else _MISSING
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tl":
            return getattr(self.scope.get("tl"), node.attr, _MISSING)
        return _MISSING

    def is_last_stride(self, name) -> bool:
        """Whether it is the stride of a tensor's last axis, which is 1 as a rule."""
        node = self.expressions.get(name)
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stride" and node.args
        ):
            return False
        tensor = ast.dump(node.func.value)
        axes = [
            _axis(other.args[0])
            for other in self.expressions.values()
            if isinstance(other, ast.Call)
            and isinstance(other.func, ast.Attribute)
            and other.func.attr == "stride"
            and other.args
            and ast.dump(other.func.value) == tensor
        ]
        axis = _axis(node.args[0])
        return axis == -1 or (axis >= 1 and axis == max(axes))


def _defaults(function) -> dict:
    """What the parameters of the function around a launch are where its caller does not say."""
    if function is None:
        return {}
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults),
        *zip(arguments.kwonlyargs, arguments.kw_defaults),
    ]
    return {parameter.arg: value for parameter, value in pairs if isinstance(value, ast.Constant) and value.value is not None}


def _axis(node) -> int:
    try:
        return int(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        return 0


class Guesser:
    """Guesses for one kernel of an imported module."""

    def __init__(self, kernel, launches, language):
        self.function, self.tuned, self.options, self.heuristics = unwrapped(kernel)
        self.language = language
        scope = self.function.fn.__globals__
        tree = _tree_of(self.function)
        self.facts = Facts(tree, resolver(scope))
        names = [parameter.name for parameter in self.function.params]
        found = [Launch(call, around, scope, names) for name, call, around in launches if name == self.function.__name__]
        self.launch = max(
            found, key=lambda launch: len(launch.expressions), default=Launch(ast.Call(None, [], []), None, scope, [])
        )
        self.has_descriptors = any("descriptor" in words and "pointer" not in words for words in self.facts.words.values())
        text = ast.dump(tree)
        self.has_dot = "'dot'" in text or "dot" in "".join(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))
        self.extents = [p.name for p in self.function.params if p.is_constexpr and "extent" in self.facts.words[p.name]]

    def guess(self, variant=VARIANTS[0]) -> Guess:
        data, flags, side = variant
        result = Guess(options={k: v for k, v in self.options.items() if k not in ("num_stages", "num_ctas")})
        warps = self.launch.value("num_warps")
        if isinstance(warps, int) and warps in (1, 2, 4, 8, 16, 32):
            result.options.setdefault("num_warps", warps)
        for parameter in self.function.params:
            if parameter.is_constexpr or self._is_absent(parameter, flags):
                result.constants[parameter.name] = (
                    None if not parameter.is_constexpr else self._constant(parameter, flags, side)
                )
                continue
            self._argument(parameter, data, side, result)
        self._apply_heuristics(result, flags)
        return result

    def _is_absent(self, parameter, flags) -> bool:
        """An optional pointer that the launch leaves out; where flags are off, those that default to None too."""
        given = self.launch.value(parameter.name)
        return given is None or (parameter.default is None and given is _MISSING and not flags)

    # -- arguments ----------------------------------------------------------

    def _argument(self, parameter, data, side, result):
        name, words = parameter.name, self.facts.words[parameter.name]
        given = self.launch.value(name)
        if parameter.annotation_type:
            kind = parameter.annotation_type
        elif "descriptor" in words and "pointer" not in words:
            kind = f"tensordesc<{data}[{side},{side}]>"
        elif "pointer" in words or re.search(r"ptr|pointer", name.lower()):
            kind = "*" + self._pointee(name.lower(), words, data)
        else:
            kind = self._scalar(name.lower(), words, given)
        if self.launch.is_last_stride(name) or (given == 1 and type(given) is int):
            result.constants[name] = 1
            return
        result.signature[name] = kind
        if kind.startswith(("*", "tensordesc")) or (kind in ("i32", "i64") and "stride" in name.lower()):
            result.divisibility[name] = 16

    @staticmethod
    def _pointee(name, words, data) -> str:
        plain = re.sub(r"_?(ptrs?|pointers?)$", "", name)
        if data in ("i32", "u8"):
            return data
        if "dot" in words:
            return data
        if "index" in words or _INTEGER_NAMES.search(plain):
            return "i64" if "seqlens" in plain or "label" in plain or "target" in plain else "i32"
        if re.search(r"mask$", plain):
            return "i1"
        return "fp32" if _FLOAT32_NAMES.search(plain) else data

    @staticmethod
    def _scalar(name, words, given) -> str:
        if isinstance(given, bool):
            return "i1"
        if isinstance(given, (int, float)):
            return "fp32" if isinstance(given, float) else "i32"
        if "bound" in words and not re.search(r"eps$|scale(?!.*stride)", name):
            return "i32"
        return "fp32" if _FLOAT_NAMES.search(name) else "i32"

    # -- constants ----------------------------------------------------------

    def _constant(self, parameter, flags, side):
        name, words = parameter.name, self.facts.words[parameter.name]
        # Blocks of descriptors are square, so that the tiles they are used with must be.
        if name in self.tuned and not (self.has_descriptors and "extent" in words):
            return self.tuned[name]
        if self.has_descriptors and ("extent" in words or "block" in name.lower()):
            return side
        given = self.launch.value(name)
        if given is not _MISSING and not (isinstance(given, bool) and given != flags):
            return given
        if parameter.has_default and not (isinstance(parameter.default, bool) and parameter.default != flags):
            return parameter.default
        return self._constant_by_use(name, words, flags, side)

    def _constant_by_use(self, name, words, flags, side):
        lower = name.lower()
        texts = sorted(word[5:] for word in words if word.startswith("text:"))
        types = sorted(word[5:] for word in words if word.startswith("half:"))
        if "extent" in words:
            return self._extent(lower, side)
        if "unrolled" in words or re.search(r"kernel_[hwd]|padding|dilation", lower):
            return 3 if "kernel" in lower else 1 if re.search(r"padding|dilation|stride", lower) else 4
        if "axis" in words:
            return 0
        if "precision" in words or "precision" in lower:
            return "tf32" if flags else "ieee"
        if texts:
            return texts[0]
        if types or "dtype" in words or lower.endswith(("dtype", "_type")):
            name = next((t for t in types if t in _ELEMENT_TYPES), "float32" if "acc" in lower else "float16")
            return getattr(self.language, name)
        if "condition" in words or _FLAG_NAMES.search(lower):
            return flags
        if "group" in lower or "num_" in lower or "split" in lower or re.fullmatch(r"[gn]_?.*heads?|topk?|k_?top", lower):
            return 4
        if re.search(r"eps$|scale$", lower):
            return 1e-5
        return self._extent(lower, side) if re.search(r"block|dim|size|head", lower) else 64

    def _extent(self, name, side) -> int:
        if self.has_dot or len(self.extents) > 1:
            return side if self.has_dot or len(self.extents) < 3 else min(side, 32)
        return 1024 if "block" in name else side

    def _apply_heuristics(self, result, flags):
        known = {**result.constants, **{name: _Argument(kind) for name, kind in result.signature.items()}}
        for name, function in self.heuristics.items():
            if name not in self.facts.words:
                continue
            try:
                value = function(known)
            except Exception:  # noqa: BLE001 - a stranger's function of values that are not there
                value = result.constants.get(name, flags)
            if isinstance(value, (bool, int, float, str)) or value is None:
                result.constants[name] = known[name] = value


class _Argument:
    """Stands for an argument in heuristics: it is there, and an int of 1024 where one is asked for."""

    def __init__(self, kind):
        self.kind = kind

    def __int__(self):
        return 1024

    __index__ = __int__

    def __mod__(self, other):
        return 1024 % other

    def __gt__(self, other):
        return 1024 > other

    def __lt__(self, other):
        return 1024 < other

    def __ge__(self, other):
        return 1024 >= other

    def __le__(self, other):
        return 1024 <= other
