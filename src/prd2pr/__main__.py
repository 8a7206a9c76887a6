"""`python -m prd2pr`"""

import sys

from prd2pr.entry.main import main

sys.exit(main())
