"""Helpers for the host's side of kernels, under the names Triton has them."""
