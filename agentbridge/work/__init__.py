"""The worker: finds what is due, makes the requests, keeps its leases, sweeps up after the lost."""
