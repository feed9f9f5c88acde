"""``python -m emulator`` is the command ``emulator``."""

import sys

from emulator.cli import main

sys.exit(main())
