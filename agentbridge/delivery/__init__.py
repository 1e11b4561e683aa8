"""What is owed and how it leaves: sealed, proven, armed, sent; then what came back. `moves` is the state table."""
