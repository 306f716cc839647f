# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Whether the stubs say what there is."""

import ast
import inspect

from ebb import _native


def stubs_are_right(file):
    with open(file, encoding="utf-8") as stubs:
        tree = ast.parse(stubs.read())
    told = {node.name: node for node in tree.body if hasattr(node, "name")}
    names = {name for name in dir(_native) if not name.startswith("_")}
    assert names == {name for name in told if not name.startswith("_")}, names
    for name, node in told.items():
        if isinstance(node, ast.FunctionDef):
            arguments = node.args.args + node.args.kwonlyargs
            real = list(inspect.signature(getattr(_native, name)).parameters)
            assert [it.arg for it in arguments] == real, name
        elif not name.startswith("_") and not issubclass(getattr(_native, name), Exception):
            fields = {it.name for it in node.body if isinstance(it, ast.FunctionDef)}
            own = {it for it in vars(getattr(_native, name)) if is_told(it)}
            assert {it for it in fields if is_told(it)} == own, name


def is_told(name):
    return not name.startswith("_") or name.startswith("__arrow")
