"""The Slurm Advisor Controller and the watchdog: stand-alone programs that talk HTTP to the Advisor API."""
