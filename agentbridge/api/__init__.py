"""The JSON API at `/api/v1/`: cases, runs, agents and incidents, with approvals' tasks and trail mounted beside them."""
