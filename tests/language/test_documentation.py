"""docs/language.md: every name has an example, and every example gives what stands behind it."""

import ast
import re
from pathlib import Path

import pytest

import lazyblock.language as tl

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
(SETUP,) = (block for block in BLOCKS if "import" in block)
EXAMPLES = [
    tuple(line.split("  # -> "))
    for block in BLOCKS
    if block is not SETUP
    for line in block.splitlines()
]
WITHOUT = {"const", "extern_elementwise", "inline_asm_elementwise", "methods"}
STATEMENTS = {"static_print", "device_print", "static_assert", "device_assert"}
STATEMENTS |= {"assume", "debug_barrier"}
REPR = re.compile(r"tensor\((\[.*?\]|\S+?), (?:<[^>]*, (\w+)>|([\w<>]+))\)", re.DOTALL)


def prints(example):
    """The statements that print what an example gives."""
    statement = ast.parse(example).body[0]
    if not isinstance(statement, ast.Expr):
        return f"{example}\n    print(scalar)"
    name = getattr(getattr(statement.value, "func", None), "attr", "")
    if name in ("store", "atomic_store", "store_tensor_descriptor"):
        return f"{example}\n    print(tl.load(p + i))"
    return example if name in STATEMENTS else f"print({example})"


def shorten(text):
    """Values and type of printed tensors."""
    text = REPR.sub(lambda match: f"{match[1]} {match[2] or match[3]}", text)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\[ | (?=\])", lambda match: match[0].strip(), text)


def run(example, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(SETUP.replace("print(tl.sum(x))", prints(example)))
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "example"})


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row[0])
def test_examples_give_what_is_behind_them(row, tmp_path, capsys):
    run(row[0], tmp_path)
    printed = shorten(capsys.readouterr().out)
    assert printed == shorten(row[1] if len(row) > 1 else "")


def test_every_name_is_in_an_example():
    used = set(re.findall(r"\btl\.(\w+)", "\n".join(BLOCKS)))
    assert set(tl.__all__) - used - WITHOUT == set()
    assert all(f"`tl.{name}`" in PAGE for name in WITHOUT - {"methods"})
