"""Everything that talks AG-UI. One package a step of the way:

 agent ──SSE──▶ net ─▶ wire ─▶ runs ─▶ Run · raw stream · ToolCall · Interrupt
                                │ translation (the only file with both vocabularies)
                                ▼
            approvals: intake ─▶ Case·Task ─▶ queue ─▶ claim ─▶ decide ─▶ settled Case
                                │ audit (everything writes here; live tails it)  │ read, not called
 agent ◀─POST resume[]─ net ◀─ delivery ◀─ translation ◀─────────────────────────┘
   └──SSE (second run)──▶ runs ─▶ result on the Task ─▶ trail

`wire` and `dialects` are pure: no Django, no network. `net.egress` alone opens connections. `work` is the worker that
drives both directions; `ways` are the doors for agents and callers that come to us.
"""
