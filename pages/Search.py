"""Search without a chat."""
