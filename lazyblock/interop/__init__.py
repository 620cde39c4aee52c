"""Foreign arrays: the only places that know them."""
