"""The one language that the site speaks."""
