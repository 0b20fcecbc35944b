"""Are stored verdicts computed again from what they hold themselves, and are they the same to the byte?"""
