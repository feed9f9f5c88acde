"""The page on which a browser talks to an agent through the emulator, and the scripts that it is made of."""
