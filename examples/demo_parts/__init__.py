"""The steps of examples/demo.py, one file each."""
