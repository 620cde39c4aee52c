"""The kernel cache: hits, misses, torn and foreign files, directories that cannot be used."""

import os
import stat
import warnings

import pytest

from lazyblock import config, events
from lazyblock.backend import cache
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.target import Target

TARGET = Target("cpu", "generic")
KEY = "k" * 64


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(cache, "_memory", {})
    with config.scope(cache_dir=str(tmp_path / "cache"), cache=True):
        yield tmp_path / "cache"


def make_kernel(key=KEY, image=b"\0code"):
    return CompiledKernel("k", TARGET, key, image, {"block": "text", "asm": "ret"}, 128, 64)


def look_up(key=KEY, compile=make_kernel):
    """Return the kernel and where it was found."""
    seen = []
    with events.listen(seen.append):
        kernel = cache.find_or_compile(key, compile)
    return kernel, seen[0].found


def only_file(folder):
    (path,) = folder.glob("*.kernel")
    return path


def test_compiled_then_memory_then_disk():
    assert look_up() == (make_kernel(), "none")
    assert look_up() == (make_kernel(), "memory")
    cache.clear_memory()
    assert look_up() == (make_kernel(), "disk")


def test_directory_is_private(fresh_cache):
    look_up()
    assert stat.S_IMODE(fresh_cache.stat().st_mode) == 0o700


@pytest.mark.case("BR-75")
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + b"?",
        lambda data: data.replace(b"lazyblock kernel 1", b"lazyblock kernel 0"),
    ],
    ids=["empty", "half", "flipped", "other version"],
)
def test_a_damaged_file_is_a_miss_and_is_replaced(fresh_cache, damage):
    look_up()
    path = only_file(fresh_cache)
    path.write_bytes(damage(path.read_bytes()))
    cache.clear_memory()
    assert look_up()[1] == "none"
    cache.clear_memory()
    assert look_up()[1] == "disk"


def test_a_file_under_another_key_is_a_miss(fresh_cache):
    look_up()
    other = "j" * 64
    only_file(fresh_cache).rename(fresh_cache / f"{other}.kernel")
    assert look_up(other, lambda: make_kernel(other))[1] == "none"


def test_no_directory_is_made_when_switched_off(fresh_cache):
    with config.scope(cache=False):
        assert look_up()[1] == "none"
    assert not fresh_cache.exists()


def test_unusable_directory_warns_once(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with config.scope(cache_dir=str(blocked)):
        with pytest.warns(UserWarning, match="cannot use its cache directory"):
            look_up()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert look_up("j" * 64, lambda: make_kernel("j" * 64))[1] == "none"


def test_directory_that_others_may_write_to_is_not_used(fresh_cache):
    fresh_cache.mkdir()
    os.chmod(fresh_cache, 0o777)
    with pytest.warns(UserWarning, match="others may write"):
        look_up()
    assert list(fresh_cache.iterdir()) == []
    cache.clear_memory()
    assert look_up()[1] == "none"


def test_code_planted_where_others_may_write_is_not_read(fresh_cache):
    look_up()
    os.chmod(fresh_cache, 0o777)
    cache.clear_memory()
    with pytest.warns(UserWarning, match="others may write"):
        assert look_up()[1] == "none"


def test_least_recently_used_files_are_dropped(fresh_cache):
    keys = [letter * 64 for letter in "abcd"]
    for age, key in enumerate(keys):
        cache.find_or_compile(key, lambda key=key: make_kernel(key, b"x" * 1000))
        os.utime(fresh_cache / f"{key}.kernel", (age, age))
    with config.scope(cache_bytes=4000):
        look_up("e" * 64, lambda: make_kernel("e" * 64, b"x" * 1000))
    left = {path.name[0] for path in fresh_cache.glob("*.kernel")}
    assert "a" not in left
    assert "d" in left


def test_the_directory_is_read_once_for_many_writes(fresh_cache, monkeypatch):
    read = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: read.append(folder) or scandir(folder))
    for number in range(20):
        key = f"{number:064}"
        cache.find_or_compile(key, lambda key=key: make_kernel(key, b"x"))
    assert len(read) == 1


def test_key_depends_on_text_target_settings_and_toolchain():
    base = cache.make_key("text", TARGET, "LLVM 1")
    assert base == cache.make_key("text", TARGET, "LLVM 1")
    assert base != cache.make_key("text2", TARGET, "LLVM 1")
    assert base != cache.make_key("text", Target("cpu", "other"), "LLVM 1")
    assert base != cache.make_key("text", TARGET, "LLVM 2")
    with config.scope(fuse=False):
        assert base != cache.make_key("text", TARGET, "LLVM 1")
