# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules about statements that are tables, for the compiler's front end in C++.

The front end (frontend/ast) checks every kernel, also those that the interpreter is
about to run. It looks up the class name of an AST node in FORBIDDEN and raises E0102 with
the two texts: what the construct is called, and what to write instead.
"""

#: Functions of Python with which a person looks at values in the interpreter: calls of them are
#: left alone there, whatever they are given. Of these the compiler has only `print`.
FOR_LOOKING = ("print", "breakpoint", "repr", "id", "locals", "globals", "vars", "dir", "input", "__import__")

#: Modules that may be imported in a kernel that the interpreter runs.
DEBUGGERS = frozenset({"pdb", "ipdb", "pudb", "debugpy", "bdb", "IPython"})

# ast class name -> (what to call it, alternative)
FORBIDDEN = {
    # statements
    "AsyncFor": ("async for", "use a plain for loop"),
    "AsyncFunctionDef": ("async def", "define a module-level function with @tilewright.jit"),
    "AsyncWith": ("async with", "remove it: kernels have no event loop"),
    "Break": ("break", "use a while loop with a condition, or a mask"),
    "ClassDef": ("class", "define the class outside the kernel"),
    "Continue": ("continue", "put the rest of the loop body under an if"),
    "Delete": ("del", "remove it: values live until their last use"),
    "FunctionDef": ("nested function", "define a module-level function with @tilewright.jit"),
    "Global": ("global", "pass the value as an argument"),
    "Import": ("import", "import at module level"),
    "ImportFrom": ("import", "import at module level"),
    "Match": ("match", "use if and elif"),
    "Nonlocal": ("nonlocal", "return the value"),
    "Raise": ("raise", "use tl.device_assert or tl.static_assert"),
    "Try": ("try", "check the condition with if, or use tl.device_assert"),
    "TryStar": ("try", "check the condition with if, or use tl.device_assert"),
    "TypeAlias": ("type", "define the alias outside the kernel"),
    "With": ("with", "remove it: kernels have no context managers"),
    # expressions
    "Await": ("await", "remove it: kernels have no event loop"),
    "Bytes": ("bytes literal", "use integers"),
    "Complex": ("complex number", "keep the real and imaginary parts in two tiles"),
    "Dict": ("dict", "use a tuple or a namedtuple"),
    "DictComp": ("dict comprehension", "use a tuple"),
    "GeneratorExp": ("generator expression", "use a list comprehension over a tuple"),
    "In": ("in", "compare with == and combine with or"),
    "Lambda": ("lambda", "define a module-level function with @tilewright.jit"),
    "MatMult": ("@", "use tl.dot"),
    "NotIn": ("not in", "compare with != and combine with and"),
    "Set": ("set", "use a tuple"),
    "SetComp": ("set comprehension", "use a list comprehension over a tuple"),
    "Starred": ("starred target", "name every element"),
    "TemplateStr": ("t-string", "use an f-string"),
    "Yield": ("yield", "store the value, or return a tuple"),
    "YieldFrom": ("yield from", "store the value, or return a tuple"),
    # Shapes of otherwise allowed nodes; the walkers test for them by these keys.
    "AttributeTarget": ("assignment to an attribute", "assign to a name"),
    "ChainedAssign": ("a = b = c", "use one assignment per name"),
    "ForElse": ("for ... else", "use a flag that the loop sets"),
    "ForOverTile": ("for over a tile", "loop over the numbers of range(n), or compute with the whole tile at once"),
    "ForOverTuple": ("for over a tuple", "use tl.static_range(len(t)) and index the tuple"),
    "ForTarget": ("tuple as a loop variable", "use one name and index"),
    "KeywordArguments": (
        "**kwargs",
        "name the parameters; what Triton 1 read from **meta are parameters annotated tl.constexpr",
    ),
    "NestedComprehension": ("nested comprehension", "use tl.static_range"),
    "PowTile": ("** on a tile", "multiply, or use tl.exp2 and tl.log2"),
    "SubscriptTarget": ("assignment to an element", "use tl.where to build a new tile"),
    "WhileElse": ("while ... else", "use a flag that the loop sets"),
}
