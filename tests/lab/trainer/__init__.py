"""Does the training stand-in do what it was ordered, and nothing else?"""
