"""The JSON API at `/api/v1/`: cases, runs, agents, incidents, and approvals' tasks and trail mounted beside them."""
