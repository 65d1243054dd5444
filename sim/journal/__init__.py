"""The durable record of a world's round: every model call, every finished unit, the agents' last states.

protocol.py  what the simulation may write, and the errors
rows.py      a call as it is recorded
blocks.py    prompt parts stored once, by content
lease.py     one writer at a time
tables.py    the database's tables, and each kind of write
writer.py    one thread, many writes in one durable transaction
reading.py   everything that is read, also while somebody writes
log.py       the journal of one world's round, opened for writing; local.py the same for an executor in this process
"""
