"""Benchmarks of Stoker: data, candidates, and the harness that runs them side by side."""
