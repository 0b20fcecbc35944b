"""Are the situations in which a recovery system does harm all tried? `test_index.py` says which number is where."""
