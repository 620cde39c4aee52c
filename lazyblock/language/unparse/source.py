"""A block program as readable text in the block language: what dumps show and people edit.

Takes: a verified program. Gives: Python source with one `@lb.jit` function (and one per combine
that has no name in the language). It means what the program means, bit for bit: where the language
promotes and the IR does not, casts are written. Values used once are written where they are used;
scalars and extents of 1 broadcast without saying so. The text is the same in every process.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.language.unparse.expressions import EXPRESSIONS
from lazyblock.language.unparse.names import to_identifier
from lazyblock.language.unparse.statements import STATEMENTS
from lazyblock.language.unparse.text import function_text
from lazyblock.language.unparse.writer import Words, Writer
from lazyblock.tiler.ir import Program

HEADER = "import lazyblock as lb\nimport lazyblock.language as tl\n"


def unparse(program: Program, launch: Sequence[int] | None = None) -> str:
    """`program` in the block language; `launch`, its grid, is told in a comment at the end.

    Raises: UnsupportedError for ops the language has no words for.
    """
    helpers: list[str] = []
    name = to_identifier(program.name)
    writer = Writer(program.body, helpers, Words(STATEMENTS, EXPRESSIONS))
    parameters = [writer.parameter(parameter) for parameter in program.parameters]
    writer.region(program.body)
    kernel = function_text(name, parameters, writer.lines)
    parts = [HEADER, *helpers, kernel]
    if launch is not None:
        arguments = ", ".join(parameter.name for parameter in program.parameters)
        hints = ", ".join(f"{hint}={value}" for hint, value in launch_hints(program).items())
        arguments = f"{arguments}, {hints}" if arguments else hints
        parts.append(f"# launch: {name}[{tuple(launch)}]({arguments})\n")
    return "\n\n".join(parts)


def launch_hints(program: Program) -> dict[str, int]:
    """The options of a launch that make the same program."""
    hints = {hint: getattr(program, hint) for hint in ("num_warps", "num_ctas", "num_stages")}
    hints |= {"maxnreg": program.max_registers} if program.max_registers else {}
    return hints | ({"launch_cooperative_grid": True} if program.is_cooperative else {})
