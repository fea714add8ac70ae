"""Batched small kernels, written once in OpenCL C with `shuffle`, for every kind of machine."""
