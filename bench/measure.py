"""What a measurement is: samples of one quantity for one program under one workload."""

import dataclasses
import statistics

# A round is disturbed when others used more than this part of the processors.  The kernel's own
# work for the server and the generator, counted among the others, is a few per cent.
OTHERS_MAX = 0.1

LESS_IS_BETTER = ("ms", "µs", "MiB")


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
    """What is asked of Zaffre: a ratio to another program, or an absolute limit.

    Beside may also be named another measure of Zaffre itself: see Workload.compare.
    """

    beside: str = None  # a program; None for a limit
    at_least: float = None  # ratio to `beside`, or the limit; None when it is only shown
    at_most: float = None  # a limit in the workload's unit


@dataclasses.dataclass
class Workload:
    title: str
    unit: str  # one of LESS_IS_BETTER; "/s", "MiB/s" and the like are better when more
    goals: list
    measures: dict = dataclasses.field(default_factory=dict)  # by program
    pairs: dict = dataclasses.field(default_factory=dict)  # by program: [(our sample, theirs)]
    failures: dict = dataclasses.field(default_factory=dict)  # by program: why there is no measure
    absent: set = dataclasses.field(default_factory=set)  # programs that do not do this
    references: dict = dataclasses.field(default_factory=dict)  # measures of other workloads

    def add(self, program, samples):
        self.measures[program] = Measure(program, samples)

    def add_pairs(self, program, ours, theirs):
        """Rounds of Zaffre and of another program in turn: the n-th of each met the same machine.

        Their ratio is the median of the ratios of the pairs.
        """
        self.add("Zaffre", ours)
        self.add(program, theirs)
        self.pairs[program] = list(zip(ours, theirs, strict=True))

    def fail(self, program, why):
        self.failures[program] = why

    def compare(self, name, workload):
        """Show Zaffre's measure of another workload beside this one, when there is one."""
        if "Zaffre" in workload.measures:
            self.references[name] = workload.measures["Zaffre"]

    def beside(self, name):
        """The measure of a program, or of Zaffre elsewhere, or None."""
        return self.measures.get(name) or self.references.get(name)

    def ratio(self, beside):
        """How many times better Zaffre is than `beside`, or None when one was not measured."""
        ours, theirs = self.measures.get("Zaffre"), self.beside(beside)
        if ours is None or theirs is None:
            return None
        if beside in self.pairs:
            ratio = statistics.median(our.value / their.value
                                      for our, their in self.pairs[beside])
        else:
            ratio = ours.median / theirs.median
        return 1 / ratio if self.unit in LESS_IS_BETTER else ratio

    def met(self, goal):
        """True or False; None when the goal is only shown or could not be measured."""
        if goal.beside is None:
            ours = self.measures.get("Zaffre")
            if ours is None or (goal.at_most is None and goal.at_least is None):
                return None
            return (goal.at_most is None or ours.median < goal.at_most) and \
                (goal.at_least is None or ours.median >= goal.at_least)
        ratio = self.ratio(goal.beside)
        if ratio is None or goal.at_least is None:
            return None
        return ratio >= goal.at_least
