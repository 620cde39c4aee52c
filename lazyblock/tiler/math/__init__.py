"""Elementary functions in block IR, one file per theme, the same text for CPU and GPU."""
