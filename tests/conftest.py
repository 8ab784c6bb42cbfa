"""Its place puts this folder on the path: test modules share what stands beside them."""
