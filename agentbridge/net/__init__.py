"""The way out. `egress` alone opens connections, where `policy` allows it; `client` posts a run and arms it."""
