"""The probe of `delivery.md` C.3: is it safe to send the same answers to this agent again? Eight checks on a tool that
harms nobody, each on threads of its own, with what came back as evidence.

`talking` is one conversation with the agent, `checks` asks the eight questions, `verdicts` writes the answer down.
"""
