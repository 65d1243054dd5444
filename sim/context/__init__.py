"""What one model call sees.

render.py turns templates into text, layers.py orders a prompt for the prefix cache, budget.py fits sections into their
tokens, memory_files.py is long-term memory, recall.py the windows of short-term memory, names.py reads names that a
model wrote, view.py is the world as one agent may see it.
"""
