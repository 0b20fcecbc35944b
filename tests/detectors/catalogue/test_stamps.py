"""Is a line's own stamp placed right, and left alone where it cannot be?"""

from datetime import UTC, datetime, timedelta

import pytest

from detectors.catalogue.stamps import Stamp, Zones, parse

READ = datetime(2026, 5, 1, 10, 0, 5, tzinfo=UTC)
SHOWN: list[tuple[str, str, str, datetime]] = [
    ("Megatron", " [2026-05-01 10:00:00.123456] iteration 1/ 2 |", "iso", datetime(2026, 5, 1, 10, 0, 0, 123456)),
    ("Python's logging", "[2026-05-01 10:00:00,123] [INFO] text", "iso", datetime(2026, 5, 1, 10, 0, 0, 123000)),
    ("Slurm", "*** JOB 7 ON n CANCELLED AT 2026-05-01T10:00:00 ***", "iso", datetime(2026, 5, 1, 10)),
    ("torchrun's block", "  time      : 2026-05-01_10:00:00", "iso", datetime(2026, 5, 1, 10)),
    (
        "PyTorch, a month with one digit",
        "[rank0]:[E501 10:00:00.408271257 ProcessGroupNCCL.cpp:607] text",
        "glog",
        datetime(2026, 5, 1, 10, 0, 0, 408271),
    ),
    (
        "PyTorch, a month with two digits",
        "[E1206 18:44:16.994932383 ProcessGroupNCCL.cpp:1709] text",
        "glog",
        datetime(2025, 12, 6, 18, 44, 16, 994932),
    ),
    ("glog", "W0501 10:00:00.000001 123 api.py:900] text", "glog", datetime(2026, 5, 1, 10, 0, 0, 1)),
    ("nanotron", "05/01/2026 10:00:00 [INFO|DP=0]: text", "us", datetime(2026, 5, 1, 10)),
    ("dmesg -T", "[Fri May  1 10:00:00 2026] NVRM: text", "ctime", datetime(2026, 5, 1, 10)),
    ("the fabric manager", "[May 01 2026 10:00:00] [ERROR] text", "ctime", datetime(2026, 5, 1, 10)),
    ("syslog", "May  1 10:00:00 gpu-01 kernel: text", "syslog", datetime(2026, 5, 1, 10)),
]


@pytest.mark.parametrize(("line", "form", "wall"), [c[1:] for c in SHOWN], ids=[c[0] for c in SHOWN])
def test_a_stamp_is_read(line: str, form: str, wall: datetime) -> None:
    assert parse(line, READ) == Stamp(wall, form)


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("2026-05-01T12:00:00+02:00 text", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (
            "kern  :warn  : 2026-05-01T09:59:58,283302+00:00 NVRM",
            datetime(2026, 5, 1, 9, 59, 58, 283302, tzinfo=UTC),
        ),
        ("Time: 2026-05-01 10:00:00.123 UTC", datetime(2026, 5, 1, 10, 0, 0, 123000, tzinfo=UTC)),
        ("2026-05-01T04:30:00-0530 text", datetime(2026, 5, 1, 10, tzinfo=UTC)),
    ],
)
def test_a_zone_in_the_line_is_believed(line: str, moment: datetime) -> None:
    stamp = parse(line, READ)
    assert stamp is not None
    assert Zones({}).place(stamp, READ) == moment


@pytest.mark.parametrize(
    "line",
    [
        "no stamp at all",
        "<6>[    2.962781] mlx5_core 0000:41:00.1: uptime only",
        "2026-13-01 10:00:00 no such month",
        "2026-02-31 10:00:00 no such day",
        "25:00:00 no such hour",
        "x" * 300 + " 2026-05-01 10:00:00 too far from the start",
        "E9999 10:00:00.0 no such day",
    ],
)
def test_what_is_no_stamp_is_none(line: str) -> None:
    assert parse(line, READ) is None


def test_a_year_that_is_left_out_is_the_nearest() -> None:
    new_year = datetime(2027, 1, 1, 0, 0, 3, tzinfo=UTC)
    stamp = parse("[E1231 23:59:59.000000 file.cpp:1] text", new_year)
    assert stamp is not None
    assert stamp.wall.year == 2026
    leap = parse("Feb 29 10:00:00 gpu-01 kernel: text", datetime(2028, 3, 1, tzinfo=UTC))
    assert leap is not None
    assert leap.wall == datetime(2028, 2, 29, 10)


PLACED: list[tuple[str, float, float | None]] = [
    ("UTC, just written", -2, -2),
    ("UTC, a clock that is ahead a little", 3, 3),
    ("two hours east", 7200 - 2, -2),
    ("five and a half hours east", 19800 - 60, -60),
    ("seven hours west", -25200 - 1, -1),
    ("fourteen hours east", 50400 - 1, -1),
    ("no whole number of half hours", -600, None),
    ("farther than any zone", 15 * 3600 - 1, None),
    ("read more than two minutes later", 7200 - 200, None),
]


@pytest.mark.parametrize(("lead", "lag"), [c[1:] for c in PLACED], ids=[c[0] for c in PLACED])
def test_a_stamp_without_a_zone_is_placed(lead: float, lag: float | None) -> None:
    """`lead`: how far the stamp, taken as UTC, lies ahead of its reading; `lag`: where it belongs."""
    wall = (READ + timedelta(seconds=lead)).replace(tzinfo=None)
    placed = Zones({}).place(Stamp(wall, "iso"), READ)
    assert placed == (None if lag is None else READ + timedelta(seconds=lag))


def local(moment: datetime, hours: float) -> Stamp:
    return Stamp((moment + timedelta(hours=hours)).replace(tzinfo=None), "iso")


def test_a_learned_zone_places_old_lines_too() -> None:
    zones = Zones({})
    assert zones.place(local(READ, 2), READ) == READ
    old = READ - timedelta(minutes=17)
    assert Zones(zones.state()).place(local(old, 2), READ) == old


def test_a_zone_learned_from_old_lines_is_learned_again() -> None:
    """Old lines first: by chance one looks as if it was written just now in another zone."""
    zones = Zones({})
    first = READ - timedelta(hours=3, seconds=10)
    assert zones.place(local(first, 0), READ) == READ - timedelta(seconds=10)
    assert zones.place(local(READ, 0), READ) == READ


def test_clocks_set_forward_are_followed_at_once() -> None:
    zones = Zones({})
    zones.place(local(READ, 1), READ)
    later = READ + timedelta(minutes=1)
    assert zones.place(local(later, 2), later) == later


def test_clocks_set_back_are_followed_after_three_reads() -> None:
    zones = Zones({})
    zones.place(local(READ, 2), READ)
    placed = []
    for minute in range(1, 5):
        later = READ + timedelta(minutes=minute)
        zones.place(local(later, 1), later)
        zones.place(local(later, 1), later)
        placed.append(zones.place(local(later, 1), later) == later)
    assert placed == [False, False, True, True]


def test_formats_have_zones_of_their_own() -> None:
    zones = Zones({})
    zones.place(local(READ, 2), READ)
    other = Stamp((READ - timedelta(seconds=1)).replace(tzinfo=None), "glog")
    assert zones.place(other, READ) == READ - timedelta(seconds=1)


def test_a_stamp_of_long_ago_is_not_used() -> None:
    assert Zones({}).place(Stamp(datetime(2026, 1, 1, tzinfo=UTC), "iso"), READ) is None
    assert Zones({}).place(Stamp(datetime(2026, 5, 2, tzinfo=UTC), "iso"), READ) is None
