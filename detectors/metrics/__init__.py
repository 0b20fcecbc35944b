"""What do the metrics of GPUs, adapters and hosts say? Reading and judging them; it knows no database and no clock.

`SOURCES` is every kind of server that can be asked.
"""

from detectors.metrics.prometheus import Prometheus
from detectors.metrics.source import MetricSource

SOURCES: tuple[MetricSource, ...] = (Prometheus(),)
