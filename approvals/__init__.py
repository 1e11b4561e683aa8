"""People, decisions and the trail: the review domain, which knows no agent protocol.

Read in this order: `models` (what is stored), `kit` (what a verdict means as an answer), `intake` (how a case opens),
`reviewing` (the verbs: claim, decide, recall, take …), `permissions` (who may), `audit` (every verb writes here),
then the edges: `views`, `api`, `live`, `management`. `agentbridge` imports this app; this app never imports it.
"""
