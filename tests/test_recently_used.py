"""The bounded mapping: what is forgotten, and when."""

from lazyblock.recently_used import RecentlyUsed


def test_what_was_used_longest_ago_is_forgotten():
    values = RecentlyUsed(3)
    for key in "abc":
        values.put(key, key.upper())
    assert values.get("a") == "A"
    values.put("d", "D")
    assert values.get("b") is None
    assert [values.get(key) for key in "acd"] == ["A", "C", "D"]


def test_there_are_never_more_than_allowed():
    values = RecentlyUsed(100)
    for key in range(1000):
        values.put(key, -key)
        assert len(values) <= 100
        assert values.get(key) == -key
        assert values.get(0) == 0
    assert len(values) >= 75 and values.get(0) == 0


def test_putting_again_replaces():
    values = RecentlyUsed(2)
    values.put("a", 1)
    values.put("a", 2)
    assert len(values) == 1 and values.get("a") == 2
