"""Configuration: who writes answers, where it is asked, and how it writes."""

from panels import configuration, frame

with frame.page("configuration.title") as workspace:
    configuration.panel(workspace)
