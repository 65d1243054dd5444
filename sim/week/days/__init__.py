"""The days of a week: one activity per agent and day.

order.py says what a day waits for. joint.py and encounter.py are conversations (conversation.py: the turns,
transcript.py: who perceived what, together.py: before and after the turns), public.py has two halves, solo.py is a day
of one's own, aftermath.py is what every activity leaves behind.
"""
