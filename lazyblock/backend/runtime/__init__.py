"""Devices, memory, launches: the CPU and CUDA behind one interface."""
