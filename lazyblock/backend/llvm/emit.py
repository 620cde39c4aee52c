"""A buffer of LLVM IR text: one function under construction, plus what it needs around it.

Names and labels are numbered in order of making, so equal programs give equal text. Text is written
rather than llvmlite.ir objects because those lack bfloat and string attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

Typed = tuple[str, str]  # an LLVM type and a value of it


class Loop:
    """A loop under construction: its index, its carried values, their next values, its labels."""

    def __init__(self, index: str, carried: list[str], body: str = "", done: str = "") -> None:
        self.index = index
        self.carried = carried
        self.following = list(carried)
        self.body = body
        self.done = done


class Emitter:
    """Collects the body of one function, and declarations and helper functions."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._allocas: list[str] = []
        self._declarations: dict[str, str] = {}
        self._helpers: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._constants: list[str] = []
        self._count = 0
        self.label = "entry"  # of the block being written

    # --- instructions ----------------------------------------------------------------------------

    def name(self) -> str:
        """A fresh SSA name."""
        self._count += 1
        return f"%v{self._count}"

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self._lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """Append an instruction and give its result's name."""
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def call(self, result: str, function: str, *arguments: Typed, attributes: str = "") -> str:
        """Call `@function`, declaring it at first use; gives the result's name ("" if void)."""
        types = ", ".join(type for type, _ in arguments)
        if function not in self._helpers:
            self.declare(f"{result} @{function}({types}){attributes}")
        listed = ", ".join(f"{type} {value}" for type, value in arguments)
        text = f"call {result} @{function}({listed})"
        if result != "void":
            return self.value(text)
        self.line(text)
        return ""

    def alloca(self, type: str, count: int = 1, align: int = 64) -> str:
        """Stack memory, reserved once at the function's entry."""
        name = self.name()
        self._allocas.append(f"  {name} = alloca {type}, i64 {count}, align {align}")
        return name

    def at_entry(self, text: str) -> None:
        """Append an instruction to the function's entry, behind the allocas made so far."""
        self._allocas.append(f"  {text}")

    def text(self, words: str, space: str = "") -> str:
        """A zero-terminated text as a global constant; gives its name."""
        if words not in self._texts:
            self._texts[words] = name = f"@text{len(self._texts)}"
            self._constants.append(f"{name} = internal {space}constant {constant_bytes(words)}")
        return self._texts[words]

    # --- control ---------------------------------------------------------------------------------

    def fresh_label(self, hint: str = "block") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, label: str) -> None:
        """Start the block `label`; what came before must have branched."""
        self._lines.append(f"{label}:")
        self.label = label

    def branch(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str, weights: str = "") -> None:
        suffix = f", !prof {weights}" if weights else ""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}{suffix}")

    def phi(self, type: str, *incoming: tuple[str, str]) -> str:
        """Merge (value, label) pairs."""
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in incoming)
        return self.value(f"phi {type} {pairs}")

    @contextmanager
    def loop(
        self,
        type: str,
        start: str,
        stop: str,
        step: str,
        carried: Sequence[Typed] = (),
    ) -> Iterator[Loop]:
        """Count from `start` to below `stop`; the `with` block is the body.

        The body sets `loop.following`; after the block `loop.carried` are the final values.
        """
        with self.rounds([(type, start), *carried]) as rounds:
            index, *names = rounds.carried
            loop = Loop(index, names)
            self.go_on_if(self.value(f"icmp slt {type} {index}, {stop}"), rounds)
            yield loop
            following = self.value(f"add {type} {index}, {step}")
            rounds.following = [following, *loop.following]
        loop.carried = names

    @contextmanager
    def rounds(self, carried: Sequence[Typed]) -> Iterator[Loop]:
        """A loop without an index: the `with` block writes a test, calls `go_on_if`, and the body.

        The body sets `following`; `carried` are the final values too.
        """
        before, head, body, done = (
            self.label,
            *(self.fresh_label(hint) for hint in ("head", "body", "done")),
        )
        self.branch(head)
        self.begin(head)
        start_of_phis = len(self._lines)
        names = [self.name() for _ in carried]
        self._lines.extend("" for _ in names)
        loop = Loop("", names, body, done)
        yield loop
        self.branch(head)
        rows = zip(carried, names, loop.following, strict=True)
        for offset, ((kind, first), name, following) in enumerate(rows):
            incoming = f"[ {first}, %{before} ], [ {following}, %{self.label} ]"
            self._lines[start_of_phis + offset] = f"  {name} = phi {kind} {incoming}"
        self.begin(done)

    def go_on_if(self, condition: str, loop: Loop) -> None:
        """Begin the body of a loop of `rounds`, or leave it."""
        self.branch_if(condition, loop.body, loop.done)
        self.begin(loop.body)

    # --- around the function ---------------------------------------------------------------------

    def declare(self, signature: str) -> None:
        """Declare an external function once: "float @llvm.fabs.f32(float)"."""
        name = signature.partition("@")[2].partition("(")[0]
        self._declarations.setdefault(name, f"declare {signature}")

    def has_helper(self, name: str) -> bool:
        return name in self._helpers

    def add_helper(self, name: str, text: str) -> None:
        """Add the definition of a function `@name` that `call` may then use."""
        self._helpers[name] = text

    def absorb(self, other: Emitter) -> None:
        """Take over the declarations and helpers of another emitter."""
        self._declarations = other._declarations | self._declarations
        self._helpers = other._helpers | self._helpers

    def function(self, signature: str, attributes: str = "") -> str:
        """The function's text: `define <signature> <attributes> { ... }`."""
        body = "\n".join(["entry:", *self._allocas, *self._lines])
        return f"define {signature} {attributes}{{\n{body}\n}}\n"

    def surroundings(self) -> str:
        """Declarations and helpers, to be written after the function."""
        return "\n".join(
            [*self._helpers.values(), *self._declarations.values(), *self._constants, ""]
        )


def constant_bytes(words: str) -> str:
    """Type and value of a zero-terminated text."""
    data = words.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    return f'[{len(data)} x i8] c"{escaped}"'
