"""What a diagnosis says and shows: the default policy applied to it, the verdict's fields, a page to read."""
