"""What the CPU device shares with front ends that make vector code themselves: target features and linking.

`batch` may import this package and nothing else of `cpu`.
"""
