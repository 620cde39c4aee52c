"""The expression graph: frozen, interned nodes over whole arrays. Pure values, no execution."""
