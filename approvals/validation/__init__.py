"""JSON Schema against JSON values, pure: checked here or in a process that can be killed. `schemas` is the door."""
