"""Facts about block programs, computed once and looked up."""
