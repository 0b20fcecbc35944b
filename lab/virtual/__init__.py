"""The product unchanged, in one process, on virtual time: hours of a cluster pass in seconds."""
