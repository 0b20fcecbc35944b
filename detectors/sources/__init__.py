"""Where records come from: one module per kind of source."""
