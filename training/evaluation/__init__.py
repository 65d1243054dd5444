"""What a trained model does better or worse.

life.py  base and tuned model in the same worlds, with intervals
"""
