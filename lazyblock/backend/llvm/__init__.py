"""Block programs as LLVM IR text, and LLVM as a library."""
