"""Kernels for lowered programs: one C++ source for CUDA and HIP, written for each body of fused operators.

The source uses what both have (blocks, threads, shared memory, barriers) and nothing of either vendor's own.
It is compiled at run time (NVRTC, HIPRTC) for the shapes at hand: sizes and strides are constants in it.
"""
