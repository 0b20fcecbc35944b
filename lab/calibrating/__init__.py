"""Is a verdict right as often as it says, on cases that its numbers were not fitted on?"""
