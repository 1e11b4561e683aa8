"""The JSON API for tasks, decisions and the trail. `agentbridge.api` mounts it under `/api/v1/` beside its own part."""
