"""Block IR to machine code to launches: emission through LLVM, cache, devices."""
