"""SciPy and scikit-learn look at this when they are imported."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"
