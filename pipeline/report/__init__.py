"""What the user's pages and lines are made of.

screen_text.py    text of a known width
life_progress.py  how far lives have come
"""
