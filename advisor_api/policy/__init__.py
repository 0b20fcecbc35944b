"""Pure: the ordered table of rules that turns facts into a decision."""
