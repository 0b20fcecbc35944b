"""The console's commands."""
