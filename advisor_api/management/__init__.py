"""The commands of the advisor."""
