"""Freed memory by size class."""

from lazyblock.backend.runtime.pool import Pool


def test_blocks_come_back_by_size_class():
    pool = Pool(1000)
    assert pool.shelf(100) is pool.shelf(128) is not pool.shelf(129)
    shelf = pool.shelf(100)
    assert shelf.take() is None
    assert shelf.keep("a") and shelf.keep("b") and pool.held_bytes == 256
    assert {shelf.take(), shelf.take()} == {"a", "b"}
    assert shelf.take() is None and pool.held_bytes == 0


def test_no_more_is_held_than_allowed():
    pool = Pool(256)
    assert pool.shelf(128).keep("a") and not pool.shelf(192).keep("b")
    assert pool.shelf(64).keep("c") and pool.held_bytes == 192
    assert sorted(pool.clear()) == ["a", "c"]
    assert pool.held_bytes == 0 and not pool.clear()
    assert pool.shelf(192).keep("b")
