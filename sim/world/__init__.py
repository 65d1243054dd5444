"""Worlds as text data.

yaml_files.py reads the files, schema.py says what stands in them, soundness.py what must hold among them, loader.py
makes the world, its smaller casts and the first states. check.py tells what is wrong with a world and build.py makes
larger ones; both are commands.
"""
