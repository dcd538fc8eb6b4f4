"""Speed and memory, measured: `python -m benchmarks NAME --json FILE`."""
