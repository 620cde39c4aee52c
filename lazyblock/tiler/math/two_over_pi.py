"""The leading bits of 2/pi, enough for the largest double: floor(2/pi * 2^TWO_OVER_PI_BITS)."""

from __future__ import annotations

TWO_OVER_PI_BITS = 1219
TWO_OVER_PI = int(
    "517cc1b727220a94fe13abe8fa9a6ee06db14acc9e21c820ff28b1d5ef5de2b0"
    "db92371d2126e9700324977504e8c90e7f0ef58e5894d39f74411afa975da242"
    "74ce38135a2fbf209cc8eb1cc1a99cfa4e422fc5defc941d8ffc4bffef02cc07"
    "f79788c5ad05368fb69b3f6793e584dba7a31fb34f2ff516ba93dd63f5f2f8bd"
    "9e839cfbc529497535fdafd88fc6ae842b0198237e3db5d5f",
    16,
)
