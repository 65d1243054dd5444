"""When work starts: what a stage offers (stage), what is finished (board), who starts it (scheduler), where (executor).

What a unit really needs stands in the stages' own `needs`; a barrier is only a stricter order of starting.
"""
