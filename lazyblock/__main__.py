"""`python -m lazyblock info`: versions, devices, cache and settings of this installation."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields

import numpy

from lazyblock import config
from lazyblock.backend import cache, devices
from lazyblock.backend.compile import toolchain_version
from lazyblock.backend.runtime import cuda
from lazyblock.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Entry point; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lazyblock", description=__doc__)
    parser.add_argument("command", choices=["info"], help="what to do")
    parser.parse_args(arguments)
    print(describe_installation())
    return 0


def describe_installation() -> str:
    """All that a bug report needs, as text."""
    target = devices.get_device("cpu").target
    gpu = "none: " + cuda.describe_missing()
    if cuda.is_available():
        device = devices.get_device("cuda")
        gpu = f"{device.name}, {device.target.arch}, {device.target.num_units} multiprocessors"
    lines = [
        f"lazyblock {__version__}, Python {sys.version.split()[0]}, NumPy {numpy.__version__}",
        f"compiler: {toolchain_version()}",
        f"cpu: {target.arch}, {target.num_units} cores, {target.vector_bytes}-byte vectors",
        f"gpu: {gpu}",
        f"default device: {devices.default_device().name}",
        f"cache: {cache.directory()}",
        "settings:",
    ]
    for entry in fields(config.Config):
        value = getattr(config.current, entry.name)
        lines.append(f"  LAZYBLOCK_{entry.name.upper()} = {value!r}  ({entry.metadata['doc']})")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
