"""What the kernel author touches: the block language."""
