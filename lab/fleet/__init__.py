"""The simulated fleet: a month of a big cluster in virtual time, drawn from published distributions."""
