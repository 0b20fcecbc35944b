"""The scheduler port and the schedulers behind it: a pure library that imports nothing of ours."""
