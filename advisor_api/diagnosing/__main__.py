"""`python -m advisor_api.diagnosing FILE…`: what happened to a job, by its logs alone."""

import gc
import sys

from advisor_api.diagnosing.door import main

if __name__ == "__main__":
    gc.freeze()  # what is read lives until the end: looking through it again and again took a tenth of the time
    gc.set_threshold(100_000, 50, 100)
    sys.exit(main(sys.argv[1:]))
