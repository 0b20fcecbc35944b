"""What happened and who did it: the append-only trail."""
