"""Everything that talks AG-UI: in by `client`, `sse`, `protocol`, `reading`, `recorder`; out by `resuming`.

 agent ──SSE──▶ client ─▶ sse ─▶ reading ─▶ recorder ─▶ Run · raw stream · ToolCall · Interrupt
                                              │ translation (the only file with both vocabularies)
                                              ▼
                         approvals: intake ─▶ Case·Task ─▶ queue ─▶ claim ─▶ decide ─▶ settled Case
                                              │ audit (everything writes here; live tails it)  │ read, not called
 agent ◀─POST resume[]─ client ◀─ resuming ◀─ translation ◀─────────────────────────────────────┘
   └──SSE (second run)──▶ recorder ─▶ result on the Task ─▶ trail

`protocol`, `sse`, `reading`, `history` and `dialects` are pure: no Django, no network.
"""
