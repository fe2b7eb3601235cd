"""Calls of tools by agents: judged, bounded and recorded."""
