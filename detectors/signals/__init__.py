"""Does a cluster give the detectors what they need? Facts in, remarks out: no I/O, no clock."""
