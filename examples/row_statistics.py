"""Standardise the rows of a matrix and take their softmax: reductions amid elementwise work.

Run it with `python -m examples.row_statistics`.
"""

import numpy as np

import lazyblock as lb
from examples.pictures import load_brightness, write_png


def standardise(rows):
    """Give each row of (M, N) mean 0 and standard deviation 1."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-6)


def softmax(rows):
    """Turn each row of (M, N) into weights that sum to 1, the largest where the row is largest."""
    exponentials = np.exp(rows - rows.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def emphasise(rows):
    """Return the softmax of the standardised rows: where each row of a picture is brightest."""
    return softmax(2 * standardise(rows))


def main() -> None:
    """Write a photograph's brightness, its standardised rows and where each row is brightest."""
    brightness = load_brightness()
    rows = lb.asarray(brightness)
    weights = emphasise(rows).numpy()
    print(write_png("rows_before", brightness))
    print(write_png("rows_standardised", standardise(rows).numpy(), -2.5, 2.5))
    print(write_png("rows_softmax", weights / weights.max(axis=1, keepdims=True)))


if __name__ == "__main__":
    main()
