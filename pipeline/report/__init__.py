"""What the user's pages and lines are made of.

screen_text.py      text of a known width: wrapped, cut, in columns
failure_kinds.py    what counts as a failed answer
life_progress.py    how far lives have come
rates.py            how fast it goes
call_counts.py      a run's calls in groups
finetune_report.py  what a fine-tune left behind
summary_cells.py    one round's column in the summary
fact_lines.py       what became true of an agent, in words
transcript.py       one unit as one agent lived it
"""
