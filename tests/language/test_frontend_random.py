"""Drawn control flow: what compiled kernels and Python's run of them do is what Python does."""

import linecache
import types

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.tiler.interpret import interpret
from tests.helpers.kernels import jit, program_of, run_eagerly, run_kernel

DEPTH = 4
NAMES = ["a", "b", "c"]
HEAD = ["def body(n):", "    a = n % 97", "    b = 1", "    c = 2"]


class Drawn:
    """Draws the statements of a function of small non-negative integers."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines = list(HEAD)
        self.names = list(NAMES)
        self.loops = 0

    def choose(self, options):
        return options[self.rng.integers(len(options))]

    def write(self, depth, text):
        self.lines.append("    " * depth + text)

    def name(self):
        return self.choose(self.names)

    def condition(self):
        one, two = (f"{self.name()} % {self.choose((2, 3))} == {self.choose((0, 1))}" for _ in "ab")
        forms = [one, f"{one} and {two}", f"not {one} or {two}", f"{self.name()} < {self.name()}"]
        return self.choose([*forms, f"0 < {self.name()} <= {self.name()}"])

    def block(self, depth, in_loop):
        known = list(self.names)
        for _ in range(self.rng.integers(1, 4)):
            self.statement(depth, in_loop)
        if self.rng.integers(4) == 0:
            self.leave(depth, in_loop)
        self.names = known

    def statement(self, depth, in_loop):
        kinds = [self.assign, self.assign, self.define]
        if depth < DEPTH:
            kinds += [self.branch, self.branch, self.guard, self.count, self.unroll, self.wait]
        self.choose(kinds)(depth, in_loop)

    def assign(self, depth, in_loop):
        value = f"({self.name()} * {self.choose((1, 3, 5))} + {self.name()} + 1) % 97"
        chosen = f"{self.name()} if {self.condition()} else ({value})"
        self.write(depth, f"{self.choose(NAMES)} = {self.choose((value, chosen))}")

    def define(self, depth, in_loop):
        name = f"t{len(self.lines)}"
        self.write(depth, f"{name} = {self.name()} + 1")
        self.names.append(name)

    def leave(self, depth, in_loop):
        ways = ["break", "continue", f"return {self.name()}"] if in_loop else ["return a + b"]
        self.write(depth, self.choose(ways))

    def guard(self, depth, in_loop):
        self.write(depth, f"if {self.condition()}:")
        self.assign(depth + 1, in_loop)
        self.leave(depth + 1, in_loop)

    def branch(self, depth, in_loop):
        self.write(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop)
        if self.rng.integers(2):
            self.write(depth, "else:")
            self.block(depth + 1, in_loop)

    def loop(self, depth, head):
        self.loops += 1
        self.write(depth, head)
        known = list(self.names)
        return known

    def count(self, depth, in_loop):
        index, bound = f"i{self.loops}", f"{self.name()} % 4"
        bounds = self.choose([bound, f"1, {bound}, 2", f"{bound}, -1, -1"])
        known = self.loop(depth, f"for {index} in range({bounds}):")
        self.names.append(index)
        self.block(depth + 1, True)
        self.names = known

    def unroll(self, depth, in_loop):
        known = self.loop(depth, f"for i{self.loops} in tl.static_range(2):")
        self.block(depth + 1, True)
        self.names = known

    def wait(self, depth, in_loop):
        counter = f"w{self.loops}"
        self.write(depth, f"{counter} = {self.name()} % 4")
        known = self.loop(depth, f"while {counter} > 0 and ({self.condition()}):")
        self.write(depth + 1, f"{counter} -= 1")
        self.block(depth + 1, True)
        self.names = known

    def text(self):
        for _ in range(4):
            self.statement(1, False)
        self.write(1, "return a * 10000 + b * 100 + c")
        return "\n".join(self.lines) + "\n"


def execute(text, name, **scope):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), scope)
    return scope["body"]


def kernel_of(text, name):
    body = jit(execute(text, name, tl=tl))

    def kernel(out, n):
        tl.store(out, body(n))

    return jit(kernel)


def oracle_of(text, name):
    return execute(text, name, tl=types.SimpleNamespace(static_range=range))


@pytest.mark.parametrize("seed", range(40))
def test_kernels_do_what_python_does(seed):
    text = Drawn(seed).text()
    kernel, oracle = kernel_of(text, f"<drawn {seed}>"), oracle_of(text, f"<oracle {seed}>")
    out = np.zeros(1, np.int32)
    program = program_of(kernel, out, 5)
    for n in (0, 5, 50):
        for run in (
            lambda n: interpret(program, [out, n]),
            lambda n: run_eagerly(kernel, (out, n), {}, (1, 1, 1)),
        ):
            run(n)
            assert out == oracle(n), text


@pytest.mark.parametrize("seed", range(100, 104))
def test_compiled_kernels_do_what_python_does(seed):
    text = Drawn(seed).text()
    kernel, oracle = kernel_of(text, f"<drawn {seed}>"), oracle_of(text, f"<oracle {seed}>")
    out = run_kernel(kernel, np.zeros(1, np.int32), 29, arch="sm_90a")
    assert out == oracle(29), text
