"""What is claimed about speed, measured as ratios inside one run. README.md says how; run.py runs all.

schedule.py       work starts when it can, against everybody waiting for everybody (virtual_clock.py)
"""
