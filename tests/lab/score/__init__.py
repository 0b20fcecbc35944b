"""Is the score card itself right?"""
