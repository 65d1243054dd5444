"""One role-player's call: desk.py what a unit may use, overlay.py its working copy, invoke.py the call itself with
tools.py (memory functions), compaction.py (long reasoning) and folding.py (old diaries); answer.py is what comes back.
"""
