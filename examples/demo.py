"""Run the examples on a real photograph and a real elevation map, beside NumPy.

`make demo` runs this. It prints one row for every expression and one of the generated kernels,
writes before/after pictures into `demo_output/`, and fails when a result is further from NumPy's
than its tolerance. `measure.py` tells what is timed.
"""

import os
import sys

import numpy as np

import lazyblock as lb
from examples import black_scholes, hillshade, mandelbrot, photo, row_statistics
from examples.measure import Arrays, Report, Workload, run_workload
from examples.pictures import OUTPUT, load_brightness, load_elevation, load_photo, write_png

HEADER = """\
expression            kernels   lazyblock       NumPy    ratio   max error   allowed
"""
ROW = (
    "{name:<22}{kernels:>7}{lazyblock_ms:>9.3f} ms{numpy_ms:>9.3f} ms{ratio:>8.1f}x"
    "{error:>12.2g}{tolerance:>10g}  {verdict}"
)


def list_workloads() -> list[Workload]:
    """Return what the demo runs, each with the largest difference from NumPy that is right.

    Results of + - * / sqrt are bit-identical to NumPy's. Others differ by roundings of exp and log,
    and by the order in which a row of 512 float32 numbers is summed.
    """
    elevation, rows = load_elevation(), load_brightness()
    options, plane = black_scholes.load_inputs(), mandelbrot.load_inputs()
    return [
        Workload("photo: develop", photo.develop, photo.load_inputs(), 2e-6),
        Workload("elevation: hillshade", hillshade.hillshade, (elevation,), 0.0),
        Workload("rows: standardise", row_statistics.standardise, (rows,), 1e-5),
        Workload("rows: softmax", row_statistics.softmax, (rows,), 1e-7),
        Workload("rows: emphasise", row_statistics.emphasise, (rows,), 1e-5),
        Workload("options: call and put", black_scholes.price_options, options, 1e-12),
        Workload("plane: mandelbrot", mandelbrot.count_steps, plane, 0.0),
    ]


def format_row(report: Report) -> str:
    """Return the table row of one report."""
    return ROW.format(
        name=report.workload.name,
        kernels=len(report.kernels),
        lazyblock_ms=report.lazyblock_ms,
        numpy_ms=report.numpy_ms,
        ratio=report.numpy_ms / report.lazyblock_ms,
        error=report.error,
        tolerance=report.workload.tolerance,
        verdict="ok" if report.is_accurate else "TOO LARGE",
    )


def write_pictures(outputs: dict[str, Arrays]) -> None:
    """Write what went in and what came out as PNG files."""
    elevation = load_elevation()
    (weights,) = outputs["rows: emphasise"]
    (steps,) = outputs["plane: mandelbrot"]
    write_png("photo_before", load_photo(), high=255)
    write_png("photo_after", *outputs["photo: develop"])
    write_png("elevation_before", elevation, elevation.min(), elevation.max())
    write_png("elevation_after", *outputs["elevation: hillshade"])
    write_png("rows_before", load_brightness())
    write_png("rows_standardised", *outputs["rows: standardise"], low=-2.5, high=2.5)
    write_png("rows_softmax", weights / weights.max(axis=1, keepdims=True))
    write_png("mandelbrot", np.sqrt(steps / mandelbrot.ITERATIONS))


def main() -> int:
    """Run everything; return the number of results that are too far from NumPy's."""
    print(f"lazyblock {lb.__version__} beside NumPy {np.__version__}, {os.cpu_count()} CPU cores\n")
    print(HEADER, end="")
    reports = {}
    for workload in list_workloads():
        report = reports[workload.name] = run_workload(workload)
        print(format_row(report), flush=True)

    write_pictures({name: report.outputs for name, report in reports.items()})
    print(f"\nPictures before and after are in {OUTPUT.name}/.")
    print("\nThe kernel that was generated for 'rows: softmax':\n")
    print(reports["rows: softmax"].kernels[0].source)
    return sum(not report.is_accurate for report in reports.values())


if __name__ == "__main__":
    sys.exit(main())
