"""Reports of heap traces: text pages, JSON, comparison and rules."""
