"""What `docs/owners` tells the owners of agents, done word for word."""
