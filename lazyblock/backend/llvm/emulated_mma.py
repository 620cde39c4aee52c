"""Matrix instructions, played by the threads of a warp: each adds up its own elements of C.

Text of the support module. Every thread has published the words of its fragments of A and B (as
nvptx_mma lays them out); an element of C takes those of the four lanes that share its row of A, and
of the four that share its column of B. Sums are made one product after the other, rounded to the
type of C each time.
"""

from __future__ import annotations

from string import Template

from lazyblock.backend.llvm.nvptx_mma import MMA, Mma

_ROUND_TF32 = """\
define i32 @lazyblock.round_tf32(float %value) {
  %bits = bitcast float %value to i32
  %size = and i32 %bits, 2147483647
  %is.finite = icmp ult i32 %size, 2139095040
  %biased = add i32 %bits, 4096
  %chosen = select i1 %is.finite, i32 %biased, i32 %bits
  %rounded = and i32 %chosen, -8192
  %quiet = or i32 %rounded, 4194304
  %is.nan = fcmp uno float %value, 0.0
  %result = select i1 %is.nan, i32 %quiet, i32 %rounded
  ret i32 %result
}
"""

# the sum of the products of two words of A and B, added to %sum; names begin with the element's
_SMALL = {
    "f16": (
        "%{n}h = trunc i32 %{n}s to i16",
        "%{n}e = bitcast i16 %{n}h to half",
        "%{n} = fpext half %{n}e to float",
    ),
    "bf16": ("%{n}h = shl i32 %{n}s, 16", "%{n} = bitcast i32 %{n}h to float"),
    "tf32": ("%{n}h = and i32 %{n}s, -8192", "%{n} = bitcast i32 %{n}h to float"),
    "i8": ("%{n}h = trunc i32 %{n}s to i8", "%{n} = sext i8 %{n}h to i32"),
    "u8": ("%{n}h = and i32 %{n}s, 255", "%{n} = or i32 %{n}h, 0"),
}
_ADD = {
    "float": "%{t} = call float @llvm.fma.f32(float %{x}, float %{y}, float %{s})",
    "double": "%{t} = call double @llvm.fma.f64(double %{x}, double %{y}, double %{s})",
    "i32": "%{t}p = mul i32 %{x}, %{y}\n  %{t} = add i32 %{t}p, %{s}",
}

# an element of C: t counts the lanes of a row and column, h the words of the depth
_ELEMENT = Template("""\
define internal $acc @mma.${name}(i32 %row, i32 %column, $acc %start) {
entry:
  %group = and i32 %row, 7
  %upper = lshr i32 %row, 3
  %lane.a = shl i32 %group, 2
  %lane.b = shl i32 %column, 2
  br label %loop
loop:
  %number = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum0 = phi $acc [ %start, %entry ], [ %sum$count, %loop ]
  %t = and i32 %number, 3
  %h = lshr i32 %number, 2
  %of.a = or i32 %lane.a, %t
  %of.b = or i32 %lane.b, %t
  %half = mul i32 %h, $row_words
  %word.a = add i32 %half, %upper
  %word.b = add i32 %h, $first_b
  %wide.a = call i64 @receive.word(i32 %of.a, i32 %word.a)
  %wide.b = call i64 @receive.word(i32 %of.b, i32 %word.b)
$steps
  %next = add i32 %number, 1
  %is.more = icmp ult i32 %next, $rounds
  br i1 %is.more, label %loop, label %done
done:
  ret $acc %sum$count
}
""")


def _steps(mma: Mma) -> str:
    """Instructions that add the products of the elements of two words."""
    if mma.word == "double":
        lines = [f"%{n}0 = bitcast i64 %wide.{n} to double" for n in "ab"]
    else:
        lines = [f"%bits.{n} = trunc i64 %wide.{n} to i32" for n in "ab"]
        for number in range(mma.per_word):
            for n in "ab":
                shift = number * 8 * mma.nbytes
                lines.append(f"%{n}{number}s = lshr i32 %bits.{n}, {shift}")
                lines += [step.format(n=f"{n}{number}") for step in _SMALL[mma.name]]
    for number in range(mma.per_word):
        names = {"x": f"a{number}", "y": f"b{number}"}
        sums = {"s": f"sum{number}", "t": f"sum{number + 1}"}
        lines.append(_ADD[mma.acc].format(**names, **sums))
    return "\n".join(f"  {line}" for line in lines)


def _element(mma: Mma) -> str:
    return _ELEMENT.substitute(
        name=mma.name,
        acc=mma.acc,
        count=mma.per_word,
        row_words=1 + mma.has_upper_rows,
        first_b=mma.num_words[0],
        rounds=4 * mma.num_halves,
        steps=_steps(mma),
    )


def _function(mma: Mma) -> str:
    """All elements of C that a thread holds."""
    given = ", ".join(f"{mma.acc} %c{n}" for n in range(mma.num_sums))
    lines = [
        "%thread = call i32 @lazyblock.thread_index()",
        "%lane = and i32 %thread, 31",
        "%group = lshr i32 %lane, 2",
        "%upper = add i32 %group, 8",
        "%t = and i32 %lane, 3",
        "%even = shl i32 %t, 1",
        "%odd = or i32 %even, 1",
    ]
    whole = "poison"
    for n in range(mma.num_sums):
        row, column = ("%group", "%upper")[n >> 1], ("%even", "%odd")[n & 1]
        operands = f"i32 {row}, i32 {column}, {mma.acc} %c{n}"
        lines.append(f"%d{n} = call {mma.acc} @mma.{mma.name}({operands})")
        lines.append(f"%r{n} = insertvalue {mma.result} {whole}, {mma.acc} %d{n}, {n}")
        whole = f"%r{n}"
    body = "\n".join(f"  {line}" for line in lines)
    head = f"define {mma.result} @lazyblock.mma_{mma.name}({given})"
    return f"{head} {{\n{body}\n  ret {mma.result} {whole}\n}}\n"


MMA_SUPPORT = "".join(
    (
        "declare float @llvm.fma.f32(float, float, float)\n",
        "declare double @llvm.fma.f64(double, double, double)\n",
        _ROUND_TF32,
        *(text for mma in MMA.values() for text in (_element(mma), _function(mma))),
    )
)
