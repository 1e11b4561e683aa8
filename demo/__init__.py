"""Two AG-UI agents to try Countersign on, and the stories that they tell.

`stories` is what is asked, `player` how a run goes, `memory` what an agent remembers, `server` the HTTP side. Nothing
here imports the product: these are agents like anybody's, on the official SDK.
"""
