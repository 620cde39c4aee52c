"""How a kernel walks its tiles: the block IR, and the lowering of fusion groups to it."""
