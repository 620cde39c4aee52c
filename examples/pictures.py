"""Read the photograph and the elevation map that matplotlib ships; write arrays as PNG files."""

from pathlib import Path

import matplotlib.cbook
import numpy as np
from PIL import Image

OUTPUT = Path(__file__).resolve().parent.parent / "demo_output"


def load_photo() -> np.ndarray:
    """Return the photograph as (height, width, 3) uint8."""
    with Image.open(matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)) as image:
        return np.asarray(image.convert("RGB"))


def load_brightness() -> np.ndarray:
    """Return the mean over the photograph's channels as (height, width) float32 in 0..1."""
    return load_photo().mean(axis=2, dtype=np.float32) / np.float32(255)


def load_elevation(enlargement: int = 8) -> np.ndarray:
    """Return the elevation map of Vancouver Island in metres, north up, as (rows, columns) float32.

    The map has 91 x 120 cells; Pillow enlarges it with cubic interpolation.
    """
    with np.load(matplotlib.cbook.get_sample_data("topobathy.npz", asfileobj=False)) as data:
        elevation = data["topo"][::-1].astype(np.float32)
    rows, columns = elevation.shape
    size = columns * enlargement, rows * enlargement
    return np.asarray(Image.fromarray(elevation).resize(size, Image.Resampling.BICUBIC))


def write_png(name: str, pixels: np.ndarray, low: float = 0.0, high: float = 1.0) -> Path:
    """Write gray (H, W) or colour (H, W, 3) pixels, `low` as black and `high` as white."""
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / f"{name}.png"
    scaled = (pixels.astype(np.float64) - low) / (high - low)
    Image.fromarray((np.clip(scaled, 0, 1) * 255 + 0.5).astype(np.uint8)).save(path)
    return path
