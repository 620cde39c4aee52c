"""Modules that load at first use, so that `import lazyblock` stays fast and needs no driver.

Written at the top of a file like an ordinary import: `llvm = lazy_import("llvmlite.binding")`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Stands for a module until an attribute of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        module = importlib.import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def lazy_import(name: str) -> Any:
    """Give a stand-in for module `name`; ImportError comes at first use, not here."""
    return _LazyModule(name)
