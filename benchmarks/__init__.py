"""How fast is the product, and what does it cost? Measured here, never asserted; results in `README.md`."""
