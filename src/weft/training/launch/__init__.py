"""Running many training configs: sweeps in local processes."""
