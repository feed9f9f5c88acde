"""`python -m container.agent serve`."""

import sys

from container.agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
