"""Well-known kernels in the block language; each file's `main` runs and checks its own."""
