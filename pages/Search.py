"""Search without a chat: passages with the words marked; a press opens the source at the line."""

from panels import finder, frame

with frame.page("search.title") as workspace:
    finder.panel(workspace)
