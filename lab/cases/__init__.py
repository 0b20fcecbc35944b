"""Which faults and traps does the lab know, and what is true of each?"""
