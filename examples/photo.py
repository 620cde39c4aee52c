"""Develop a photograph: unsharp mask, tone curve and vignette, written as ordinary array code.

Run it with `python -m examples.photo`.
"""

import math

import numpy as np

import lazyblock as lb
from examples.pictures import load_photo, write_png

BORDER = 2  # pixels that the blur takes from each side


def blur_rows(image):
    """Blur along axis 0 with weights 1 4 6 4 1; the result is 2 * BORDER rows shorter."""
    outer = image[:-4] + image[4:]
    inner = image[1:-3] + image[3:-1]
    return (outer + 4 * inner + 6 * image[2:-2]) / 16


def blur_columns(image):
    """Blur along axis 1 with the same weights; the result is 2 * BORDER columns shorter."""
    outer = image[:, :-4] + image[:, 4:]
    inner = image[:, 1:-3] + image[:, 3:-1]
    return (outer + 4 * inner + 6 * image[:, 2:-2]) / 16


def sharpen(image, amount):
    """Add back what a blur takes away (an unsharp mask)."""
    interior = image[BORDER:-BORDER, BORDER:-BORDER]
    return interior + amount * (interior - blur_columns(blur_rows(image)))


def apply_tone_curve(image, exposure, contrast):
    """Lift the shadows like film, then bend the curve into a soft S."""
    clipped = np.minimum(np.maximum(image, 0), 1)
    exposed = (1 - np.exp(-exposure * clipped)) / (1 - math.exp(-exposure))
    curved = exposed * exposed * (3 - 2 * exposed)
    return exposed + contrast * (curved - exposed)


def develop(padded, rows, columns):
    """Return the developed picture, (H, W, 3) float32 in 0..1.

    `padded` is (H + 4, W + 4, 3) uint8; `rows` (H, 1, 1) and `columns` (1, W, 1) run from -1 to 1.
    """
    image = padded.astype(np.float32) / 255
    toned = apply_tone_curve(sharpen(image, amount=0.9), exposure=1.0, contrast=0.6)
    vignette = 1 / (1 + 0.35 * (rows * rows + columns * columns) ** 2)
    return toned * vignette


def load_inputs() -> tuple[np.ndarray, ...]:
    """Return the padded photograph and its row and column coordinates as NumPy arrays."""
    photo = load_photo()
    height, width, _ = photo.shape
    padded = np.pad(photo, ((BORDER, BORDER), (BORDER, BORDER), (0, 0)), mode="edge")
    rows = np.linspace(-1, 1, height, dtype=np.float32).reshape(height, 1, 1)
    columns = np.linspace(-1, 1, width, dtype=np.float32).reshape(1, width, 1)
    return padded, rows, columns


def main() -> None:
    """Write the photograph as it came and as it was developed."""
    developed = develop(*(lb.asarray(array) for array in load_inputs()))
    print(write_png("photo_before", load_photo(), high=255))
    print(write_png("photo_after", developed.numpy()))


if __name__ == "__main__":
    main()
