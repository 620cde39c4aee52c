"""Every stage of every kernel as numbered files.

`lb.dump(y, "out/")` writes the kernels of one expression; LAZYBLOCK_DUMP=dir writes those of a
whole run, as they are made.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from lazyblock import config, events

_EXTENSIONS = {"source": "py", "llvm": "ll", "ptx": "ptx", "asm": "s"}


def dump(expression: Any, directory: str | Path) -> list[Path]:
    """Write the kernels of an array or compiled function; gives the paths written.

    Files are `k0_0_source.py`, `k0_1_block.txt`, ... for kernel 0 and so on, and `explain.txt`.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, kernel in enumerate(expression.kernels):
        texts = {"source": kernel.source, **kernel.stages}
        for order, (stage, text) in enumerate(texts.items()):
            paths.append(folder / _file_name(f"k{number}_{order}", stage))
            paths[-1].write_text(text)
    paths.append(folder / "explain.txt")
    paths[-1].write_text(expression.explain())
    return paths


def _file_name(prefix: str, stage: str) -> str:
    return f"{prefix}_{stage}.{_EXTENSIONS.get(stage, 'txt')}"


class RunDump:
    """Listener that writes each stage's text to `directory`, numbered in order of making."""

    def __init__(self, directory: str) -> None:
        self.folder = Path(directory)
        self.numbers = itertools.count()

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.StageDone):
            self.folder.mkdir(parents=True, exist_ok=True)
            prefix = f"{next(self.numbers):04d}_{event.kernel[:80]}"
            (self.folder / _file_name(prefix, event.stage)).write_text(event.text)


def start_from_environment() -> None:
    """Dump the whole run if LAZYBLOCK_DUMP names a directory."""
    if config.current.dump:
        events.add_listener(RunDump(config.current.dump))
