"""LAZYBLOCK_LOGS=graph,fusion,kernels,cache,eval: what happens, as lines on standard error."""

from __future__ import annotations

import sys

from lazyblock import config, events
from lazyblock.errors import ValueRangeError

TOPICS = ("graph", "fusion", "kernels", "cache", "eval")


class Log:
    """Listener that prints the events of the chosen topics."""

    def __init__(self, topics: frozenset[str]) -> None:
        self.topics = topics

    def __call__(self, event: events.Event) -> None:
        topic, text = _describe(event)
        if topic in self.topics:
            print(f"lazyblock {topic}: {text}", file=sys.stderr)


def _describe(event: events.Event) -> tuple[str, str]:
    match event:
        case events.StageDone(kernel, stage, text):
            return {"graph": "graph", "plan": "fusion"}.get(stage, ""), f"{kernel}\n{text}"
        case events.KernelLaunch(kernel, grid, device):
            return "kernels", f"launched '{kernel}' with grid {grid} on {device}"
        case events.HostCall(function, device):
            return "kernels", f"ran '{function}' on the host for {device}"
        case events.Specialisation(kernel, arguments, reason):
            return "kernels", f"compiling '{kernel}' for {arguments}: {reason}"
        case events.CacheLookup(kernel, found):
            where = "compiled" if found == "none" else f"found in the {found} cache"
            return "cache", f"'{kernel}' {where}"
        case events.Evaluation(reason, line, num_kernels):
            return "eval", f"{reason} at {line} evaluates with {num_kernels} kernels"


def start_from_environment() -> None:
    """Log the topics that LAZYBLOCK_LOGS lists. Raises: ValueRangeError for unknown ones."""
    topics = frozenset(word.strip() for word in config.current.logs.split(",") if word.strip())
    unknown = topics - set(TOPICS)
    if unknown:
        raise ValueRangeError(
            f"LAZYBLOCK_LOGS has unknown topics {sorted(unknown)}.",
            hint=f"use {', '.join(TOPICS)}.",
        )
    if topics:
        events.add_listener(Log(topics))
