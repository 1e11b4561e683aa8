"""Erasing content and keeping it: who asks, who does it, what is held, what a rule says (`audit.md` D.7).

The trail keeps its place: entries and their hashes stay, their texts go with their salts. What the bridge stores goes
in the same transaction (`agentbridge.record.erasing`).
"""
