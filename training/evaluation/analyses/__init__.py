"""What a life shows: all analyses of SPEC section 10 from a run's tables, as CSV, PNG and an index.

`python -m training.evaluation.analyses RUN [RUN …] [--out FOLDER] [--round N]`

__main__.py    the command
lives.py       the tables of one or several runs, put together
measures.py    quartiles, correlations, Gini: arithmetic that several analyses share
rewards.py     distributions, correlations, transitions of the rewards
wealth.py      inequality of deposits
friends.py     friendships and their communities
striving.py    those who strive most against those who strive least
divergence.py  how far a world moves from where it began
cost.py        tokens, calls, hours
models.py      base against tuned model; several models in one society
catalogue.py   every analysis with its definition
needs.py       what an analysis can't do without
lettering.py   names that a picture's fonts can't draw get numbers
drawing.py     figures without a display
pictures.py    what each picture shows
report.py      writes everything, and the index
"""
