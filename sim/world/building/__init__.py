"""More characters for a world.

newcomers.py says what a new character is and what it finds; a model makes one in casting.py (by author.py, with the
numbers of levels.py), a seed in sampling.py, both with the names of spare_names.py; accounts.py and mending.py correct,
world_folder.py writes.
"""
