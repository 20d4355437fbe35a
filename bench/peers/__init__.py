"""Stoker and its peers side by side: `python -m bench.peers J`. See docs/benchmarks.md."""
