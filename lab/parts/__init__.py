"""The product put together from its parts, as a user does it: for the lab, end-to-end tests and benchmarks."""
