"""The resume guard: its judgement, its record, and the two together before agents that would act twice."""
