"""The comparison of two devices sees what differs, and its arguments are what it says."""

import numpy as np

from benchmarks import bit_identity

F32 = np.dtype("float32")


def test_only_nans_may_have_different_bits():
    nans = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(F32)
    one = np.array([*nans, 0.0, 1.0, 2.0], F32)
    other = np.array([*nans[::-1], -0.0, np.nextafter(F32.type(1), F32.type(2)), 2.0], F32)
    assert bit_identity.differ(one, other).tolist() == [False, False, True, True, False]


def test_every_function_is_listed_once():
    functions = bit_identity.list_functions(F32)
    assert functions["exp"] == functions["abs"] == 1 and functions["add"] == functions["clip"] == 2
    assert not {"absolute", "power", "bitwise_and", "left_shift"} & set(functions)
    assert len(functions) >= 70


def test_arguments_are_special_and_random():
    x, y = bit_identity.draw_pairs(F32, 200_000, 0)
    assert x.size == y.size == 200_000
    specials = bit_identity.list_specials(F32).view(np.uint32)
    pairs = set(zip(x.view(np.uint32).tolist(), y.view(np.uint32).tolist(), strict=True))
    assert {(a, b) for a in specials.tolist() for b in specials.tolist()} <= pairs
    assert np.unique(x).size > 80_000


def test_a_record_counts_and_shows_what_differs(monkeypatch):
    devices = ("cpu", "emulated:sm_90a")
    record = bit_identity.compare("hypot", 2, "float32", 300, devices)
    assert (record["arguments"], record["differing"]) == (300, 0)
    monkeypatch.setattr(
        bit_identity,
        "_results",
        lambda name, arguments, device: [arguments[0] if device == "cpu" else -arguments[0]],
    )
    record = bit_identity.compare("conj", 1, "float32", 300, devices)
    assert 200 < record["differing"] <= 300 and set(record["example"]) == {"arguments", *devices}
    report = {"devices": devices, "functions": [record], "seconds": 1.0}
    assert "1 functions differ" in bit_identity.summarize(report)
