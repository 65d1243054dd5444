"""What may be wrong with a world, by rules.

findings.py says what a finding is; money.py reads the raw files, places.py, people.py and views.py the world;
likeness.py measures texts.
"""
