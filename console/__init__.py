"""What an operator sees: pages, panels and the live feed."""
