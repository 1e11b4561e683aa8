"""The resume guard: stands before one agent and makes it safe to send the same answers to it again.

Knows, on disk, which interrupts each thread has open and which answers were taken; refuses what the Interrupts page
says an agent must refuse, repeats what was said already, and never asks the agent twice. No Django. For owners of
agents: `docs/owners/guard.md`.

    app ─▶ asking ─▶ guarding ─▶ rules (may it pass?) ─▶ agent (the one connection) ─▶ reading ─▶ journal
     ▲                                                                                              │
     └─────────────── following: everyone who asked reads from the journal ─────────────────────────┘
"""
