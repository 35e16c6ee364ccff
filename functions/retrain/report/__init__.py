"""Pages that a run leaves for people to read: one file each, nothing loaded from elsewhere."""
