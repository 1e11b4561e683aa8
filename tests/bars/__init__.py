"""The delivery bars: do it many times, kill things meanwhile, and ask a witness outside the app what arrived.

`benchmarks.soak` runs the same plays at full size.
"""
