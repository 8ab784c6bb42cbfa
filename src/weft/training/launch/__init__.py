"""Running many configs: sweeps, and the executors that train each config somewhere."""
