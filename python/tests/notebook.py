# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Executes a notebook as Jupyter does: notebook.py FILE. What a cell raises ends it."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

path = Path(sys.argv[1])
notebook = nbformat.read(path, as_version=4)
NotebookClient(
    notebook,
    timeout=120,
    kernel_name="python3",
    resources={"metadata": {"path": str(path.parent)}},
).execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
pictures = [output for output in outputs if "image/png" in output.get("data", {})]
assert len(pictures) == 2, outputs
print("all so")
