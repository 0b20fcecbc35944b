"""`python -m advisor_api.diagnosing FILE…`: what happened to a job, by its logs alone."""

import sys

from advisor_api.diagnosing.door import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
