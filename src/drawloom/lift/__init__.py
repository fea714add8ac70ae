"""Lift: a functional data-parallel language whose low-level programs become OpenCL C (thesis sections 2.4 and 4)."""
