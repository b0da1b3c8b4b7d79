"""`python -m tidelog` is the command `tidelog`."""

import sys

from tidelog.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
