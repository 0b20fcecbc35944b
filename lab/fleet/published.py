"""Which numbers about big training clusters are published, and which are assumed here?

Every number stands beside its source. `assumed` is said where none gives one: such a number is a choice of this
lab, and the results depend on it. `unchecked` stands where the number is remembered from its source and the text
was not at hand to look it up again.

Sources, named below by the word in front:

- META: Kokolis, Kuchnik, Hoffman, Kumar, Malani, Ma, DeVito, Sengupta, Saladi, Wu: "Revisiting Reliability in
  Large-Scale Machine Learning Research Clusters", HPCA 2025 (arXiv 2410.21680). Two clusters, RSC-1 (16k GPUs) and
  RSC-2 (8k GPUs), 11 months.
- LLAMA: Llama team at Meta: "The Llama 3 Herd of Models", 2024 (arXiv 2407.21783), table of root causes of
  unexpected interruptions: 419 in 54 days on 16,384 GPUs.
- PHILLY: Jeon, Venkataraman, Phanishayee, Qian, Xiao, Yang: "Analysis of Large-Scale Multi-Tenant GPU Clusters for
  DNN Training Workloads", USENIX ATC 2019.
- ACME: Hu, Ye, Wang, Wang, Zhang, Chen, Sun, Lin, Wang, Luo, Wen, Zhang: "Characterization of Large Language Model
  Development in the Datacenter", NSDI 2024, and its public trace.
- HELIOS: Hu, Sun, Yan, Wen, Zhang: "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU
  Datacenters", SC 2021.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

GPUS_PER_NODE = 8  # META: both clusters are built of nodes with eight GPUs
DAY = 86_400.0

# --- how many jobs, how big, how long

SIZES: Mapping[int, float] = MappingProxyType(
    {1: 0.550, 2: 0.128, 4: 0.100, 8: 0.075, 16: 0.055, 32: 0.050, 64: 0.030, 128: 0.012}
)
"""Nodes of a job that takes at least one whole node, and the share of such jobs.

META: most jobs are small while big ones take most of the time: jobs of 256 GPUs and more took 66 % of the GPU time
of RSC-1 and 52 % of RSC-2 (unchecked). The weights between are assumed so that the first of these numbers comes out
(66 %).
"""
BIG_NODES = 32  # 256 GPUs
BIG_SHARE = 0.66  # META, RSC-1: of the GPU time (unchecked)
LARGEST_SHARE = 0.25  # assumed: no job asks for more than this share of the cluster

LIFE_MEDIAN_SECONDS = 206.0  # HELIOS: median of all GPU jobs (unchecked)
LIFE_MEAN_SECONDS = 6652.0  # HELIOS: mean of all GPU jobs (unchecked)
LIFE_SIGMA = math.sqrt(2 * math.log(LIFE_MEAN_SECONDS / LIFE_MEDIAN_SECONDS))  # of the lognormal with these two
SHORTEST_SECONDS = 3600.0  # assumed: what ends within an hour has little to recover and is left out
LONGEST_SECONDS = 7 * DAY  # META: the longest life that a job is allowed
BUSY = 0.75  # assumed; META: 83 % and 85 %, with backfill and preemption, which the simulated scheduler has not

CHECKPOINT_SECONDS = 3600.0  # META: the interval assumed for its own estimate
START_UP_SECONDS = (300.0, 1200.0)  # META: "5-20 mins" from the start of an attempt to its first step

# --- what ends jobs without anything being broken

KILLED_SHARE = 0.135  # PHILLY: 13.5 % of the jobs were killed by their users or an administrator (unchecked)
TIME_LIMIT_SHARE = 0.05  # assumed: the job asked for less time than it needs
PREEMPTED_SHARE = 0.05  # assumed; META: 2 h after its start a job may be preempted
PREEMPTED_AFTER_SECONDS = 7200.0  # META
EVALUATION_SHARE = 0.10  # assumed: one long evaluation
EVALUATION_SECONDS = (1200.0, 3600.0)  # assumed
LONG_SAVE_SHARE = 0.05  # assumed: one save that takes unusually long
LONG_SAVE_SECONDS = (600.0, 1800.0)  # assumed
DRAIN_EVERY_SECONDS = 7 * DAY  # assumed: a share of the nodes is drained for maintenance
DRAIN_SHARE = 0.05  # assumed
DRAIN_SECONDS = 4 * 3600.0  # assumed

# --- what breaks by the user's own doing

# ACME counts 40 to 43 % failed, mostly short ones.
PROGRAM_SHARE = 0.172  # PHILLY: 17.2 % of the jobs were unsuccessful (unchecked)
PROGRAM_MEDIAN_SECONDS = 1800.0  # assumed: errors come early
PROGRAM_SIGMA = 1.6  # assumed

HANG_SHARE = 0.01  # assumed: the job falls silent once; LLAMA counts only those that a watchdog ended

# --- what breaks in the machines

NODE_DAY_RATE = 6.50 / 1000  # META, RSC-1: failures for each node and day (RSC-2: 2.34 / 1000)
LEMON_SHARE = 0.012  # META, RSC-1: the share of nodes found to be lemons (unchecked)
LEMON_FACTOR = 40.0  # assumed: how much more often a lemon fails
PERSISTS = 0.5  # assumed: a node that failed stays broken until somebody repairs it
BROKEN_RATE = 12.0  # assumed: failures for each day on a node that stayed broken
POD_NODES = 20  # META: two servers in a rack, ten racks behind one set of switches
SWITCH_STORMS_PER_DAY = 0.1 / 512  # assumed, for each node of the cluster: one in ten days at 512 nodes
STALLS_PER_DAY = 0.1  # assumed: a file system that stands still for everybody
STALL_SECONDS = (900.0, 2700.0)  # assumed
STALL_FAILS = 0.25  # assumed: the share of jobs that do not survive it
STORM_SECONDS = 60.0  # a shared cause shows in all its jobs within a minute

LLAMA_CAUSES: Mapping[str, int] = MappingProxyType(
    {
        "Faulty GPU": 148,
        "GPU HBM3 Memory": 72,
        "Software Bug": 54,
        "Network Switch/Cable": 35,
        "Host Maintenance": 32,
        "GPU SRAM Memory": 19,
        "GPU System Processor": 17,
        "NIC": 7,
        "NCCL Watchdog Timeouts": 7,
        "Silent Data Corruption": 6,
        "GPU Thermal Interface + Sensor": 6,
        "SSD": 3,
        "Power Supply": 3,
        "Server Chassis": 2,
        "IO Expansion Board": 2,
        "Dependency": 2,
        "CPU": 2,
        "System Memory": 2,
    }
)
"""LLAMA: unexpected interruptions by cause; 419 in all."""

NVLINK_OF_FAULTY_GPU = 0.2  # assumed: LLAMA counts NVLink under "Faulty GPU" and gives no number of its own

# --- people

REPAIR_MEDIAN_SECONDS = 8 * 3600.0  # assumed: until a broken node is repaired and back
REPAIR_SIGMA = 0.8  # assumed
NOTICE_MEDIAN_SECONDS = 3600.0  # assumed: until a person sees that a job failed, and starts it again by hand
NOTICE_SIGMA = 1.0  # assumed
HANG_NOTICE_MEDIAN_SECONDS = 4 * 3600.0  # assumed: until a person sees that a job hangs, and cancels it
HANG_NOTICE_SIGMA = 0.7  # assumed
FIX_MEDIAN_SECONDS = 2 * 3600.0  # assumed: until an error of the program is mended and the job submitted again
FIX_SIGMA = 1.0  # assumed
