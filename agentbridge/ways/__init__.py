"""The other ways in beside the bridge's own runs: relay, push and pull. One recorder stands behind them all."""
