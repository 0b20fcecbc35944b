"""Pure: the signatures and the detectors, as folds over records."""
