"""The house plan as a test: who may import whom, read from the sources with `ast`.

A room knows the data of the room before it, never the machinery of the one after. The longest entry
of MAY_IMPORT that fits a module counts; names are written without `lazyblock.`.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import lazyblock

ROOT = Path(__file__).resolve().parent.parent / "lazyblock"

GROUND_FLOOR = ["config", "constants", "dlpack", "dtypes", "errors", "events", "lazy_imports"]
GROUND_FLOOR += ["recently_used", "scalar_types", "shapes", "source", "target", "version"]
STAGES = ["backend", "fusion", "graph", "language", "tiler", "tracer"]
LISTENERS = ["inspect", "interop"]  # nobody imports them
NAMESPACES = ["fft", "lib", "linalg", "random", "tools"]
BLOCK_IR = ["tiler.ir", "tiler.ops", "tiler.types", "tiler.printer"]
PLAN = ["fusion.plan", "fusion.reads", "fusion.storage"]  # the planner's data, not its search
BLOCK_TOOLS = ["tiler.builder", "tiler.math", "tiler.verify", "tiler.parser", "tiler.interpret"]
BLOCK_TOOLS += ["tiler.call"]
PLANS = ["device_data", "kernels", "plan_steps", "plans", "position_checks", "replacement"]
WRAPPERS = ["runtime", "compiler"]  # names that wrappers of kernels import

MAY_IMPORT = {
    **{module: [] for module in GROUND_FLOOR},
    "graph": ["graph"],
    "fusion": ["fusion", "graph"],
    "tiler": ["tiler", *PLAN, "graph"],
    "language": ["language", *BLOCK_IR, *BLOCK_TOOLS],
    "language.jit": ["language", *BLOCK_IR, *BLOCK_TOOLS, "pipeline"],
    "language.autotune": ["language", "pipeline", "testing"],
    "language.kernel_file": ["language", *BLOCK_IR, *BLOCK_TOOLS, "testing"],
    "tools": ["tools", "language", "pipeline"],
    "backend": ["backend", *BLOCK_IR, "tiler.analysis"],
    "backend.runtime.checked": ["backend", *BLOCK_IR, *BLOCK_TOOLS],
    "tracer": ["tracer", "graph", "pipeline"],
    "pipeline": [*STAGES, *PLANS],
    "plans": [*STAGES, *PLANS],
    "plan_steps": STAGES,
    "device_data": [*STAGES, "position_checks"],
    "position_checks": STAGES,
    "kernels": STAGES,
    "replacement": [*STAGES, "kernels", "testing"],
    "autotune": [*STAGES, "pipeline"],
    "linalg": ["tracer"],
    "fft": ["tracer"],
    "lib": ["tracer"],
    "random": ["tracer"],
    "testing": ["pipeline"],
    "runtime": ["language", "pipeline", "runtime", "testing"],
    "compiler": ["compiler", "language"],
    "inspect": [*STAGES, *LISTENERS, "pipeline"],
    "interop": [*STAGES, *LISTENERS, "pipeline"],
    "__init__": [*STAGES, *LISTENERS, *NAMESPACES, *WRAPPERS, "pipeline", "autotune", "testing"],
    "__main__": [*STAGES, *LISTENERS, "pipeline", "autotune"],
}

OPTIONAL_PACKAGES = {"cuda", "dask", "matplotlib", "torch"}
MOST_LATE_IMPORTS = 10  # imports of optional packages inside functions


class Import(NamedTuple):
    """One imported module, as written at `path:line`."""

    module: str
    target: str
    line: int
    is_late: bool
    is_relative: bool

    def __str__(self):
        return f"{self.module}:{self.line} imports {self.target}"


def name_module(path):
    """Return the dotted name below lazyblock; a room's `__init__` is the room."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def is_module(dotted):
    path = ROOT.parent.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def list_targets(node):
    """Return the dotted names that a statement or a call of `lazy_import` imports."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=base, names=names):
            longer = [f"{base}.{alias.name}" for alias in names]
            return [name if is_module(name) else str(base) for name in longer]
        case ast.Call(
            func=ast.Name(id="lazy_import") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name]
    return []


def read_imports(module, text):
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    late = {inner for function in functions for inner in ast.walk(function)}
    return [
        Import(module, target, node.lineno, node in late, getattr(node, "level", 0) > 0)
        for node in ast.walk(tree)
        for target in list_targets(node)
    ]


def lies_in(module, place):
    return module == place or module.startswith(f"{place}.")


def is_allowed(entry):
    """Whether the house plan has this arrow."""
    package, _, target = entry.target.partition(".")
    if package != "lazyblock":
        return True
    places = [place for place in MAY_IMPORT if lies_in(entry.module, place)]
    if not places:
        return False
    allowed = [*GROUND_FLOOR, *MAY_IMPORT[max(places, key=len)]]
    return any(lies_in(target, place) for place in allowed)


@pytest.fixture(scope="module")
def imports():
    paths = sorted(ROOT.rglob("*.py"))
    return [entry for path in paths for entry in read_imports(name_module(path), path.read_text())]


def test_imports_follow_the_arrows(imports):
    assert not [str(entry) for entry in imports if not is_allowed(entry)]


def test_imports_are_absolute(imports):
    assert not [str(entry) for entry in imports if entry.is_relative]


def test_late_imports_are_few_and_for_optional_packages(imports):
    late = [entry for entry in imports if entry.is_late]
    strangers = [entry for entry in late if entry.target.split(".")[0] not in OPTIONAL_PACKAGES]
    assert not [str(entry) for entry in strangers]
    assert len(late) <= MOST_LATE_IMPORTS


@pytest.mark.parametrize(
    ("module", "statement", "expected"),
    [
        ("graph.node", "from lazyblock.shapes import Shape", True),
        ("graph.node", "from lazyblock import dtypes", True),
        ("graph.node", "import lazyblock.fusion.plan", False),
        ("tiler.lower.view", "from lazyblock.fusion.plan import FusionPlan", True),
        ("tiler.lower.view", "from lazyblock.fusion import planner", False),
        ("language.jit", "import lazyblock.pipeline", True),
        ("language.core", "import lazyblock.pipeline", False),
        ("backend.compile", "from lazyblock.tiler import ir", True),
        ("backend.compile", "from lazyblock.tiler import builder", False),
        ("pipeline", "import lazyblock.inspect.dump", False),
        ("dtypes", "import lazyblock.graph.node", False),
        ("tracer.array", "dump = lazy_import('lazyblock.inspect.dump')", False),
        ("tracer.array", "import numpy", True),
        ("attic", "import lazyblock.graph.node", False),
    ],
)
def test_the_reader_tells_arrows_apart(module, statement, expected):
    (entry,) = read_imports(module, statement)
    assert is_allowed(entry) is expected


def test_the_reader_sees_late_and_relative_imports():
    text = "from . import a\ndef f():\n    import torch\n"
    assert [(e.is_late, e.is_relative) for e in read_imports("x", text)] == [
        (False, True),
        (True, False),
    ]


def test_importing_lazyblock_loads_no_heavy_package():
    heavy = ["cuda", "llvmlite.binding", "matplotlib", "networkx", "torch"]
    code = f"import sys, lazyblock; print(*[name for name in {heavy} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []


def test_each_public_name_belongs_to_one_chapter():
    counts = Counter(lazyblock.__all__)
    assert not [name for name, count in counts.items() if count > 1]
