"""The one way to a model: a question goes down through the wrappers, its answer comes back up.

protocol.py       what is asked and what comes back
outcome.py        what became of a question
structured.py     asks until the answer has its form (json_reader.py, tool_calls.py read it)
journaled.py      answers from the journal, else asks and writes first
resilient.py      time limits, retries, pauses, fallback (limiter.py, outage.py)
openai_client.py  any OpenAI-compatible server
scripted.py       the model without weights (scripted_*.py), latency.py its clockless clock
"""
