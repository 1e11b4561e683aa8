"""The probe before agents that are careless, and before the same ones behind the guard."""
