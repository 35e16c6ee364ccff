"""Benchmarks and comparators: what the README's figures come from. Nothing here ships."""
