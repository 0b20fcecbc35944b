"""Do the signatures and the detectors say what they should, and nothing else?"""
