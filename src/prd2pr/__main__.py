"""`python -m prd2pr`"""

import sys

from prd2pr.cli.main import main

sys.exit(main())
