"""The transcripts of agents whose messages are lists of parts: Gemini CLI and Qwen Code."""
