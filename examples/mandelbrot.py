"""Count how long points of the plane stay bounded under z = z * z + c: the Mandelbrot set.

Run it with `python -m examples.mandelbrot`.
"""

import numpy as np

import lazyblock as lb
from examples.pictures import write_png

ITERATIONS = 40


def count_steps(real, imaginary):
    """Return for every c how many of ITERATIONS steps stay within distance 2, (M, N) int32.

    `real` is (1, N), `imaginary` is (M, 1). Escaped points run on to infinity and NaN, which
    compare as outside.
    """
    x, y = real, imaginary
    steps = 0
    for _ in range(ITERATIONS):
        x_squared, y_squared = x * x, y * y
        steps = steps + (x_squared + y_squared <= 4).astype(np.int32)
        x, y = x_squared - y_squared + real, 2 * x * y + imaginary
    return steps


def load_inputs(height: int = 480, width: int = 640) -> tuple[np.ndarray, ...]:
    """Return the coordinates of the picture's columns and rows as float32 arrays."""
    real = np.linspace(-2.2, 0.8, width, dtype=np.float32).reshape(1, width)
    imaginary = np.linspace(1.125, -1.125, height, dtype=np.float32).reshape(height, 1)
    return real, imaginary


def main() -> None:
    """Write the set as a picture."""
    steps = count_steps(*(lb.asarray(array) for array in load_inputs()))
    print(write_png("mandelbrot", np.sqrt(steps.numpy() / ITERATIONS)))


if __name__ == "__main__":
    main()
