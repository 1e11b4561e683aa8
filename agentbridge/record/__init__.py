"""The bridge's part of the record: what was sent, evidence for a bundle, traces, verifying and erasing its rows."""
