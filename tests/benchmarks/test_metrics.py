"""Does the benchmark of metrics measure whole answers that are understood?"""

from benchmarks.metrics import GPUS, LABELS, answers, measured
from detectors.metrics import SOURCES
from detectors.metrics.families import queries
from detectors.metrics.snapshot import Sorting


def test_every_gpu_and_adapter_of_the_answers_is_seen() -> None:
    given, nodes = answers(["n01", "n02"]), ["n01", "n02"]
    assert list(given) == list(queries(LABELS, ""))
    sorting = Sorting(LABELS, nodes)
    for query, answer in given.items():
        sorting.take(query, SOURCES[0].samples(answer))
    assert sorting.seen.gpus == 2 * GPUS and all(len(host.ports) == GPUS for host in sorting.seen.hosts.values())
    assert not sorting.seen.strangers and all(host.memory_left == 1 for host in sorting.seen.hosts.values())


def test_a_row_of_the_table_has_every_column() -> None:
    assert measured(10).startswith("| 10 | 80 | 4 |") and measured(10).count("|") == 8
