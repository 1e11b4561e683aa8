"""Bytes and events: no Django, no network. `sse` → `protocol` → `reading`; `record` names what was read."""
