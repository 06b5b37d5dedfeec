"""What a measurement is: samples of one quantity for one program under one workload."""

import dataclasses
import statistics

# A round is disturbed when others used more than this part of the processors.  The kernel's own
# work for the server and the generator, counted among the others, is a few per cent.
OTHERS_MAX = 0.1


@dataclasses.dataclass
class Sample:
    """One round of a workload.  The fields that are None were not measured."""

    value: float
    p50_us: float = None
    p99_us: float = None
    cpu_us: float = None  # of the server, per request
    rss_bytes: int = None  # at the end, or the peak where the workload says so
    written_bytes: float = None  # to the disk, per request
    others: float = None  # the part of the processors used by neither server nor generator


@dataclasses.dataclass
class Measure:
    """The samples of one program under one workload, in the workload's unit."""

    program: str
    samples: list

    @property
    def median(self):
        return statistics.median(sample.value for sample in self.samples)

    @property
    def spread(self):
        """Half the distance from the least to the greatest sample, as a part of the median."""
        values = [sample.value for sample in self.samples]
        return (max(values) - min(values)) / 2 / self.median

    def detail(self, field):
        """The median of one of a sample's other fields, or None."""
        values = [getattr(sample, field) for sample in self.samples]
        return statistics.median(values) if None not in values else None


@dataclasses.dataclass
class Goal:
    """What is asked of Zaffre: a ratio to another program, or an absolute limit."""

    beside: str = None  # a program; None for a limit
    at_least: float = None  # ratio to `beside`; None when it is only shown
    at_most: float = None  # in the workload's unit


@dataclasses.dataclass
class Workload:
    title: str
    unit: str  # "/s", "MiB/s", "ms" or "MiB"
    goals: list
    measures: dict = dataclasses.field(default_factory=dict)  # by program
    failures: dict = dataclasses.field(default_factory=dict)  # by program: why there is no measure

    def add(self, program, samples):
        self.measures[program] = Measure(program, samples)

    def fail(self, program, why):
        self.failures[program] = why

    def ratio(self, beside):
        """How many times better Zaffre is than `beside`, or None when one was not measured."""
        ours, theirs = self.measures.get("Zaffre"), self.measures.get(beside)
        if ours is None or theirs is None:
            return None
        if self.unit in ("ms", "MiB"):
            return theirs.median / ours.median
        return ours.median / theirs.median

    def met(self, goal):
        """True or False; None when the goal is only shown or could not be measured."""
        if goal.at_most is not None:
            ours = self.measures.get("Zaffre")
            return None if ours is None else ours.median < goal.at_most
        ratio = self.ratio(goal.beside)
        if ratio is None or goal.at_least is None:
            return None
        return ratio >= goal.at_least
