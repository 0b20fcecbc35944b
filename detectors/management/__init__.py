"""The commands of the detectors."""
