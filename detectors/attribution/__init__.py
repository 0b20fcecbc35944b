"""Pure: from the symptoms of an attempt to a verdict."""
