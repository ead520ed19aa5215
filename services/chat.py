"""The chat by one name: conversations, the turns that answer in them, and single questions."""

from __future__ import annotations

from services import conversations, turns
from services.answering import answer_question, checked_question
from services.conversations import (
    Conversation,
    citation_line,
    list_conversations,
    load_messages,
    new_conversation,
    rename_conversation,
    restore_conversation,
    title_in,
)
from services.exporting import export_conversation
from services.turns import TurnView, ask, regenerate, running_turn, stop, turn
from services.workspace import Workspace

__all__ = [
    "Conversation",
    "TurnView",
    "answer_question",
    "ask",
    "checked_question",
    "citation_line",
    "delete_conversation",
    "export_conversation",
    "list_conversations",
    "load_messages",
    "new_conversation",
    "regenerate",
    "rename_conversation",
    "restore_conversation",
    "running_turn",
    "stop",
    "title_in",
    "turn",
]


def delete_conversation(workspace: Workspace, conversation_id: str) -> str:
    """Delete a conversation, a running answer first; returns what brings it back."""
    turns.stop_all(workspace, conversation_id)
    return conversations.delete_conversation(workspace, conversation_id)
