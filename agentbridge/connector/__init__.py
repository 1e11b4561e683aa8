"""Runs beside an agent that nobody outside can call: fetches the answers it is owed and hands its runs to the desk.

Needs Python and nothing else; knows nothing of the desk but its addresses. `python -m agentbridge.connector --help`.
"""
