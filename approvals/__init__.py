"""People, decisions and the trail: the review domain, which knows no agent protocol.

Read in this order: `models` (what is stored), `kit` (what a verdict means as an answer), `intake` (how a case opens),
`reviewing` (the verbs: claim, decide, recall, take …; one file each in `verbs`), `permissions` (who may), `audit`
(every verb writes here; `trail` keeps it checkable), then what is shown: `waiting` (the queue), `desk` (the case),
`forms`, `foreign` (text that is not ours), `workbench` and `erasing` (for auditors), and the edges: `views`, `api`,
`live`, `management`. `agentbridge` imports this app; this app never imports it.
"""
