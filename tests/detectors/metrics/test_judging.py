"""Which values, rises and changes are which signal? Pure turns over made-up minutes."""

import json
from typing import Any

import pytest

from detectors.catalogue.metric_signals import RDMA_ZERO, SPIN
from detectors.metrics import families
from detectors.metrics.jobs import Run
from detectors.metrics.judging import Signal
from detectors.metrics.snapshot import Host, Snapshot
from detectors.metrics.turning import turn
from tests.detectors.metrics.exporter import HEALTHY, MEMORY, PORT

NODES = ("n01", "n02", "n03")
START = 1_000_000.0


class Cluster:
    """Three nodes with two GPUs and one port each; `look` turns the clock and gives what the turn told."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.now = START
        self.hosts = {
            name: Host(
                {gpu: dict(HEALTHY) for gpu in ("0", "1")},
                {gpu: f"GPU-{name}-{gpu}" for gpu in ("0", "1")},
                {"mlx5_0:1": dict(PORT)},
                dict(MEMORY),
            )
            for name in NODES
        }
        self.unseen: set[str] = set()
        self.run = Run(7, NODES, 100)
        self.uses: dict[int, Any] = {}

    def gpu(self, host: str = "n02", gpu: str = "1") -> dict[str, float]:
        return self.hosts[host].gpus[gpu]

    def all(self) -> list[dict[str, float]]:
        return [values for host in self.hosts.values() for values in host.gpus.values()]

    def look(self, seconds: float = 15.0, *, steps: int = 1, traffic: float = 1e9) -> list[Signal]:
        """The state goes through JSON, as it does through the database."""
        self.now += seconds
        self.run = Run(7, self.run.nodes, (self.run.step or 0) + steps)
        for host in self.hosts.values():
            for port in host.ports.values():
                port[families.RECEIVED] += traffic
        seen = Snapshot({name: host for name, host in self.hosts.items() if name not in self.unseen})
        turned = turn(json.loads(json.dumps(self.state)), seen, [self.run], frozenset(NODES), self.now)
        self.state, self.uses = turned.state, turned.uses
        return list(turned.signals)

    def minutes(self, number: int, **told: Any) -> list[Signal]:
        return [signal for _turn in range(number * 4) for signal in self.look(**told)]


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    assert cluster.look() == []
    return cluster


def ids(signals: list[Signal]) -> list[tuple[str, str, bool]]:
    return [(one.id, f"{one.host} {one.part}".strip(), one.healthy) for one in signals]


def test_a_healthy_hour_tells_nothing(cluster: Cluster) -> None:
    assert cluster.minutes(60) == []


def test_an_xid_is_told_when_it_changes_once_and_is_over_when_it_falls(cluster: Cluster) -> None:
    cluster.gpu()[families.XID] = 79
    (told,) = cluster.look()
    assert (told.id, told.host, told.part, told.codes, told.fatal) == ("m.xid", "n02", "GPU 1", ("79",), True)
    assert told.since == cluster.now and cluster.minutes(10) == []
    cluster.gpu()[families.XID] = 94
    assert [(one.healthy, one.codes) for one in cluster.look()] == [(True, ()), (False, ("94",))]
    cluster.gpu()[families.XID] = 0
    assert ids(cluster.look()) == [("m.xid", "n02 GPU 1", True)]


def test_an_xid_that_stands_there_at_the_first_look_is_no_event() -> None:
    cluster = Cluster()
    cluster.gpu()[families.XID] = 79
    assert cluster.look() == [] and cluster.minutes(3) == []


def test_an_xid_that_came_while_nobody_looked_only_confirms(cluster: Cluster) -> None:
    cluster.gpu()[families.XID] = 79
    (told,) = cluster.look(seconds=3600)
    assert not told.fatal and "some time since" in told.sentence


def test_an_xid_of_a_gpu_that_was_gone_for_a_moment_is_told(cluster: Cluster) -> None:
    cluster.unseen = {"n02"}
    cluster.look()
    cluster.unseen = set()
    cluster.gpu()[families.XID] = 79
    assert ("m.xid", "n02 GPU 1", False) in ids(cluster.look())


@pytest.mark.parametrize(
    ("metric", "before", "after", "expected"),
    [
        (families.DBE, 0, 2, ["m.dbe"]),
        (families.DBE, 5, 5, []),
        (families.DBE, 5, 0, []),
        (families.DBE, 5, 1, ["m.dbe"]),  # the driver was loaded anew and has counted one since
        (families.BROKEN_ROWS, 0, 1, ["m.remap_fail"]),
        (families.BROKEN_ROWS, 4, 1, []),  # another card
        (families.REMAP_FAILURE, 0, 1, ["m.remap_fail"]),
        (families.RECOVERY[0], 0, 2, ["m.recovery"]),
        (families.THROTTLE[0], 0, 4, []),
    ],
)
def test_states_and_rises(metric: str, before: float, after: float, expected: list[str]) -> None:
    cluster = Cluster()
    cluster.gpu()[metric] = before
    cluster.look()
    cluster.gpu()[metric] = after
    assert [one.id for one in cluster.look() if one.fatal] == expected
    assert [one.id for one in cluster.look() if not one.healthy] == []


def test_errors_that_go_on_are_told_again_after_ten_minutes_and_not_before(cluster: Cluster) -> None:
    times = 0
    for number in range(1, 121):
        cluster.gpu()[families.DBE] = number
        times += len(cluster.look())
    assert times == 3  # 30 minutes


def test_another_card_ends_what_the_old_one_showed_and_brings_nothing_of_its_own(cluster: Cluster) -> None:
    cluster.gpu()[families.REMAP_FAILURE] = 1
    cluster.look()
    cluster.hosts["n02"].uuids["1"] = "GPU-new"
    cluster.gpu().update({families.REMAP_FAILURE: 0, families.BROKEN_ROWS: 9, families.XID: 13})
    assert ids(cluster.look()) == [("m.remap_fail", "n02 GPU 1", True)]


def test_throttling_is_told_in_the_third_minute_and_over_after_five_without(cluster: Cluster) -> None:
    cluster.gpu()[families.THROTTLE[0]] = 0x40 | 0x4
    assert cluster.minutes(2) == []
    (told,) = cluster.minutes(2)
    assert (told.id, told.fatal) == ("m.throttle", False) and told.since < cluster.now - 120
    cluster.gpu()[families.THROTTLE[0]] = 0x4
    assert ids(cluster.minutes(6)) == [("m.throttle", "n02 GPU 1", True)]


def test_throttling_for_a_moment_is_none(cluster: Cluster) -> None:
    for _time in range(6):
        cluster.gpu()[families.THROTTLE[0]] = 0x40
        cluster.look()
        cluster.gpu()[families.THROTTLE[0]] = 0
        assert cluster.minutes(3) == []


@pytest.mark.parametrize(
    ("part", "metric", "a_minute", "expected"),
    [
        ("gpu", families.REPLAYS, 12, ["m.pcie_replay"]),
        ("gpu", families.REPLAYS, 4, []),
        ("gpu", families.NVLINK_ERRORS[0], 1, ["m.nvlink_err"]),
        ("port", families.PORT_ERRORS[1], 1, ["m.nic_err"]),
    ],
)
def test_errors_of_links_by_their_rate(
    cluster: Cluster, part: str, metric: str, a_minute: float, expected: list[str]
) -> None:
    told = []
    for _minute in range(6):
        values = cluster.gpu() if part == "gpu" else cluster.hosts["n02"].ports["mlx5_0:1"]
        values[metric] += a_minute
        told += cluster.minutes(1)
    assert [one.id for one in told] == expected


def test_a_link_that_flaps_twice_in_five_minutes_is_told_and_once_is_not(cluster: Cluster) -> None:
    port = cluster.hosts["n02"].ports["mlx5_0:1"]
    port[families.LINK_DOWNED] += 1
    assert cluster.minutes(3) == []
    port[families.LINK_DOWNED] += 1
    assert ids(cluster.minutes(2)) == [("m.nic_err", "n02 mlx5_0:1", False)]


def test_a_port_that_goes_down_is_told_and_one_that_was_never_up_is_not(cluster: Cluster) -> None:
    cluster.hosts["n03"].ports["mlx5_9:1"] = {**PORT, families.PORT_STATE: 1}
    cluster.hosts["n02"].ports["mlx5_0:1"][families.PORT_STATE] = 1
    assert ids(cluster.look()) == [("m.nic_down", "n02 mlx5_0:1", False)]
    cluster.hosts["n02"].ports["mlx5_0:1"][families.PORT_STATE] = 4
    assert ids(cluster.look()) == [("m.nic_down", "n02 mlx5_0:1", True)]


def test_a_node_that_starts_has_no_broken_port(cluster: Cluster) -> None:
    """Its port passes through other states, and its counters begin anew."""
    cluster.minutes(1)
    cluster.unseen = {"n02"}
    cluster.minutes(2)
    cluster.unseen = set()
    port = cluster.hosts["n02"].ports["mlx5_0:1"]
    port.update({families.PORT_STATE: 2, families.LINK_DOWNED: 2, families.PORT_ERRORS[1]: 0})
    told = cluster.look()
    port[families.PORT_STATE] = 4
    told += cluster.minutes(6)
    assert {one.id for one in told} <= {"m.gone"}


def test_a_gpu_that_is_gone_takes_two_looks(cluster: Cluster) -> None:
    lost = cluster.hosts["n02"].gpus.pop("1")
    assert cluster.look() == []
    (told,) = cluster.look()
    assert (told.id, told.host, told.fatal) == ("m.gone", "n02", False) and "1 of 2" in told.sentence
    cluster.hosts["n02"].gpus["1"] = lost
    assert ids(cluster.look()) == [("m.gone", "n02", True)]


def test_when_every_exporter_is_silent_nobody_lost_a_gpu(cluster: Cluster) -> None:
    cluster.unseen = set(NODES)
    assert cluster.minutes(10) == []


def test_one_gpu_slower_than_its_peers_under_load(cluster: Cluster) -> None:
    cluster.gpu()[families.CLOCK] = 1500
    assert ids(cluster.minutes(5)) == [("m.sm_clock", "n02 GPU 1", False)]


def test_a_host_without_memory(cluster: Cluster) -> None:
    cluster.hosts["n01"].memory[families.MEMORY_LEFT] = 1e10
    assert ids(cluster.look()) == [("m.host_mem", "n01", False)]


def test_a_job_that_spins_is_seen_after_half_a_minute(cluster: Cluster) -> None:
    """Trap 9: a utilisation of 100 % with low power."""
    cluster.minutes(2)
    for values in cluster.all():
        values.update({families.UTIL: 100, families.POWER: 240, families.TENSOR: 0.0})
    cluster.look(steps=0)
    assert cluster.uses.get(7) is None or cluster.uses[7].witness == ""
    for _look in range(2):
        cluster.look(steps=0)
    use = cluster.uses[7]
    assert (use.witness, use.gpus, use.nodes) == (SPIN, 6, 3) and use.mean == 1.0


@pytest.mark.parametrize(
    ("what", "steps"),
    [
        ({families.UTIL: 100, families.POWER: 600, families.TENSOR: 0.4}, 0),  # it works, and logs nothing
        ({families.UTIL: 100, families.POWER: 240, families.TENSOR: 0.4}, 0),  # it computes
        ({families.UTIL: 100, families.POWER: 240, families.TENSOR: 0.0}, 1),  # its steps rise
        ({families.UTIL: 0, families.POWER: 90, families.TENSOR: 0.0}, 0),  # it waits for something, e.g. data
    ],
    ids=["works", "computes", "moves", "waits"],
)
def test_no_spin(cluster: Cluster, what: dict[str, float], steps: int) -> None:
    cluster.minutes(2)
    for values in cluster.all():
        values.update(what)
    cluster.minutes(5, steps=steps)
    assert cluster.state["jobs"]["7"].get("spin") is None


def test_no_spin_while_a_node_of_the_job_is_not_seen(cluster: Cluster) -> None:
    cluster.minutes(2)
    for values in cluster.all():
        values.update({families.UTIL: 100, families.POWER: 240, families.TENSOR: 0.0})
    cluster.unseen = {"n03"}
    cluster.minutes(5, steps=0)
    assert "spin" not in cluster.state["jobs"]["7"]


def test_no_spin_of_a_job_whose_normal_nobody_knows() -> None:
    cluster = Cluster()
    for values in cluster.all():
        values.update({families.UTIL: 100, families.POWER: 240, families.TENSOR: 0.0})
    cluster.minutes(5, steps=0)
    assert "spin" not in cluster.state["jobs"]["7"]


def test_an_odd_one_does_not_hide_the_others_that_spin(cluster: Cluster) -> None:
    cluster.minutes(2)
    for values in cluster.all():
        values.update({families.UTIL: 100, families.POWER: 240, families.TENSOR: 0.0})
    cluster.gpu()[families.UTIL] = 0
    cluster.minutes(2, steps=0)
    assert "spin" in cluster.state["jobs"]["7"]


def test_traffic_that_stops_is_a_witness_after_a_minute(cluster: Cluster) -> None:
    cluster.minutes(2, traffic=1e9)
    cluster.minutes(2, steps=0, traffic=0)
    told = cluster.state["jobs"]["7"]["told"]
    assert told[2] == RDMA_ZERO
    cluster.look(steps=1, traffic=1e9)
    assert cluster.uses[7].witness == ""


def test_a_job_on_gpus_that_do_nothing_is_idle_since(cluster: Cluster) -> None:
    cluster.minutes(2)
    for values in cluster.all():
        values.update({families.UTIL: 0})
    cluster.look(steps=0)
    since = cluster.now
    cluster.minutes(3, steps=0)
    use = cluster.uses.get(7) or cluster.uses
    assert cluster.state["jobs"]["7"]["idle"] == since and use is not None


def test_nodes_that_several_jobs_share_tell_of_none(cluster: Cluster) -> None:
    seen = Snapshot(cluster.hosts)
    runs = [Run(1, ("n01", "n02"), 5), Run(2, ("n02",), 5), Run(3, ("n03",), 5)]
    assert set(turn({}, seen, runs, frozenset(NODES), START).uses) == {3}


def test_nodes_and_jobs_that_are_gone_are_forgotten(cluster: Cluster) -> None:
    cluster.gpu()[families.REMAP_FAILURE] = 1
    cluster.look()
    turned = turn(cluster.state, Snapshot(), [], frozenset({"n01"}), cluster.now + 15)
    text = json.dumps(turned.state)
    assert "n02" not in text and "n03" not in text and turned.state["jobs"] == {}


def test_a_memory_of_another_version_begins_anew(cluster: Cluster) -> None:
    cluster.state["v"] = 0
    cluster.gpu()[families.XID] = 79
    assert cluster.look() == []
