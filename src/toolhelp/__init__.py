"""Windows process, thread, module and heap snapshots, and heap traces read on any system."""

__version__ = "0.1.0"
