"""Library functions as PTX kernels of their own: sorts, groups, joins and what they stand on (thesis section 4.3.4)."""
