"""The days of a week: one activity per agent and day.

order.py says what a day waits for. joint.py and encounter.py are conversations: occasion.py (what people come
together for), conversation.py (the turns), transcript.py (who perceived what), together.py (what follows). public.py
has two halves, solo.py is a day of one's own. thoughts.py makes reasoning short, aftermath.py is what every activity
leaves behind.
"""
