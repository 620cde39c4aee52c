"""What the NumPy user touches: lazy arrays that record what is done with them."""
