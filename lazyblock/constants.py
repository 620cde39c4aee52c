"""The constants of the array API standard."""

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793
