"""Complete programs. Each can be run as it is."""
