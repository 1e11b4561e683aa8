"""Runs on record: asked for, read, concluded; what their pauses open and what else they say."""
