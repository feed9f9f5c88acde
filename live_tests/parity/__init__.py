"""What a live run sees of each fact of the emulator's facts table, and how the emulator's answers differ."""
