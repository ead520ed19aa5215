"""A short guide to the screen."""
