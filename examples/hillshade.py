"""Shade an elevation map from the slopes of its surface, lit from three sides.

Run it with `python -m examples.hillshade`.
Source: B. K. P. Horn, Hill shading and the reflectance map, Proc. IEEE 69(1), 1981.
"""

import math
from typing import NamedTuple

import numpy as np

import lazyblock as lb
from examples.pictures import load_elevation, write_png

CELL_SIZE = 305.0  # metres between neighbours of the enlarged map
EXAGGERATION = 4.0  # heights are multiplied by this, as map makers do


class Light(NamedTuple):
    """A distant lamp: compass direction and height in degrees, and its share of the light."""

    azimuth: float
    altitude: float
    weight: float

    def direction(self) -> tuple[float, float, float]:
        """Return the unit vector towards the lamp: east, south, up."""
        azimuth, altitude = math.radians(self.azimuth), math.radians(self.altitude)
        horizontal = math.cos(altitude)
        return (
            math.sin(azimuth) * horizontal,
            -math.cos(azimuth) * horizontal,
            math.sin(altitude),
        )


LIGHTS = (Light(315, 45, 0.6), Light(255, 50, 0.25), Light(15, 50, 0.15))


def measure_slopes(height):
    """Return the slopes towards east and south of all interior cells (Horn's 3 x 3 differences)."""
    across = height[:-2] + 2 * height[1:-1] + height[2:]
    down = height[:, :-2] + 2 * height[:, 1:-1] + height[:, 2:]
    scale = EXAGGERATION / (8 * CELL_SIZE)
    return scale * (across[:, 2:] - across[:, :-2]), scale * (down[2:] - down[:-2])


def hillshade(height):
    """Return the light that each interior cell reflects, 0..1; water is drawn darker with depth.

    `height` is (M + 2, N + 2) float32 in metres; the result is (M, N).
    """
    east, south = measure_slopes(height)
    length = np.sqrt(1 + east * east + south * south)
    shade = 0.0
    for light in LIGHTS:
        to_east, to_south, up = light.direction()
        facing = (up - to_east * east - to_south * south) / length
        shade = shade + light.weight * np.maximum(facing, 0)
    level = height[1:-1, 1:-1]
    depth = np.minimum(-level / 1500, 1)
    return np.where(level < 0, shade * (0.6 - 0.4 * depth), shade)


def main() -> None:
    """Write the elevation map as grays and as a shaded relief."""
    elevation = load_elevation()
    print(write_png("elevation_before", elevation, elevation.min(), elevation.max()))
    print(write_png("elevation_after", hillshade(lb.asarray(elevation)).numpy()))


if __name__ == "__main__":
    main()
