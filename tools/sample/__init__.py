"""Makes the six files of the sample notebook from the texts beside this module."""
