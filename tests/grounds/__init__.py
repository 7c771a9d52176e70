"""What `noxfile.py` needs to run the test grounds; plain Python, nothing from PyPI."""
