"""The rows of the queue service.

The depth of the queue stays what it is while it is measured.  What is put is taken out again: Put,
Get and Delete are measured by bursts in turn, one kind of request at a time, that put some messages
behind those that are there, take as many out at the head, and delete them.
"""

import functools
import time

import bursts
import load
import sas
from measure import Goal, Workload
from rows import Row, guarded, say
from servers import Azurite, BenchError, Zaffre
from steps import Cycle, Step

QUEUE = "bench"
CONNECTIONS = 32
BATCH = 32
BATCH_CONNECTIONS = 4
BURST = {"Zaffre": 1024, "Azurite": 64}  # messages; a tenth of a second for either
AZURITE_DEPTH_MAX = 1000  # beyond, it hands out a few messages a second
MESSAGE_BYTES = 256
CYCLE_DEPTH = 1000
FLAT = 1 / 1.5


def messages_target(query=""):
    return sas.target(f"{QUEUE}/messages", query)


def message_target(query=""):
    """Of the message whose id and receipt an earlier answer told."""
    return sas.target(f"{QUEUE}/messages/@{{id}}", f"popreceipt=@{{receipt:url}}{query}")


MESSAGE = f"<QueueMessage><MessageText>@{{noise:{MESSAGE_BYTES}}}</MessageText></QueueMessage>"
KEEP = (("id", "<MessageId>", "</MessageId>"), ("receipt", "<PopReceipt>", "</PopReceipt>"))


def put(**more):
    return Step("POST", messages_target(), 201, template=MESSAGE, **more)


def get(count=1, **more):
    return Step("GET", messages_target(f"numofmessages={count}&visibilitytimeout=60"), 200,
                contains=(count, "<MessageId>"), keep=KEEP, **more)


def delete(**more):
    return Step("DELETE", message_target(), 204, **more)


# --- what is measured, for every depth ---

class Depth:
    """The workloads at one depth of the queue."""

    def __init__(self, depth, least, essential):
        """`least` is the depth with which the others are compared."""
        self.depth = depth
        self.essential = essential
        beside = [Goal("Azurite")]
        if depth > AZURITE_DEPTH_MAX:
            beside = [Goal(f"at depth {least:,}", at_least=FLAT)]
        where = f"at depth {depth:,}"
        self.cycle = Workload(f"queue: Put + Get + Delete, {CONNECTIONS} connections, {where}",
                              "/s", list(beside))
        self.put, self.get, self.delete, self.peek, self.update, self.get_batch = (
            Workload(f"queue: {name}, {where}", "/s", list(beside))
            for name in ("Put Message", "Get Messages", "Delete Message", "Peek Messages",
                         "Update Message", f"Get Messages of {BATCH}"))
        if depth == CYCLE_DEPTH:
            self.cycle.goals[0] = Goal("Azurite", at_least=50)

    def workloads(self):
        if self.essential:
            return [self.cycle]
        return [self.cycle, self.put, self.get, self.delete, self.peek, self.update,
                self.get_batch]

    def compare(self, least):
        for ours, theirs in zip(self.workloads(), least.workloads()):
            ours.compare(f"at depth {least.depth:,}", theirs)

    # --- the measurements ---

    def measure(self, server, plan):
        self.cycle.add(server.name, Cycle(server, "cycle", CONNECTIONS, [
            put(), get(), delete(),
        ]).samples(plan))
        if self.essential:
            return
        self.peek.add(server.name, Cycle(server, "peek", CONNECTIONS, [
            Step("GET", messages_target("peekonly=true"), 200, contains=(1, "<MessageId>")),
        ]).samples(plan))
        self.measure_bursts(server, plan)
        self.measure_update(server, plan)

    def measure_update(self, server, plan):
        # Each connection renews a message of its own, which is visible again a second later.
        self.update.add(server.name, Cycle(server, "update", CONNECTIONS, [
            get(once=True),
            Step("PUT", message_target("&visibilitytimeout=1"), 204, template=MESSAGE,
                 keep=(("receipt", "x-ms-popreceipt: "),)),
        ]).samples(plan))
        time.sleep(1.5)

    def measure_bursts(self, server, plan):
        count = BURST[server.name]
        samples = bursts.rounds(server, plan, lambda: burst(server, count), 2 * plan.seconds)
        for kind, workload in (("put", self.put), ("get", self.get), ("delete", self.delete),
                               ("batch", self.get_batch)):
            workload.add(server.name, samples[kind])


def burst(server, count):
    """Some messages in and out, singly and by 32; returns a sample for each kind of request."""
    saved = server.directory.parent / "receipts"

    def run(name, connections, step, cycles, **more):
        cycle = Cycle(server, name, connections, [step], **more)
        keeps = saved if step.keep else None
        return load.observe(server, lambda: cycle.run(cycles=cycles, save=keeps))[0]

    def run_delete():
        return run("delete", CONNECTIONS, delete(), count, lines=(saved, "id", "receipt"))

    samples = {"put": run("put", CONNECTIONS, put(), count),
               "get": run("get", CONNECTIONS, get(), count),
               "delete": run_delete()}
    run("put", CONNECTIONS, put(), count)
    samples["batch"] = run("batch", BATCH_CONNECTIONS, get(BATCH), count // BATCH)
    run_delete()
    return samples


# --- the queue ---

def create(server):
    server.demand(201, "PUT", sas.target(QUEUE))


def fill(server, count):
    Cycle(server, "fill", CONNECTIONS, [put()]).run(cycles=count)


def demand_depth(server, depth):
    """Fail unless the queue holds about as many messages as it should: its count may lag."""
    connection = server.connect()
    connection.request("GET", sas.target(QUEUE, "comp=metadata"),
                       headers={"x-ms-version": sas.VERSION})
    response = connection.getresponse()
    response.read()
    connection.close()
    found = int(response.getheader("x-ms-approximate-messages-count", -1))
    if abs(found - depth) > max(1, depth // 100):
        raise BenchError(f"{server.name}: the queue holds {found} messages instead of {depth}")


def measure(depths, work, plan):
    brief = plan.brief()
    for kind in (Zaffre, Azurite):
        mine = [depth for depth in depths
                if kind is Zaffre or depth.depth <= AZURITE_DEPTH_MAX]
        workloads = [workload for depth in mine for workload in depth.workloads()]
        with guarded(kind.name, *workloads), kind(work, "queue") as server:
            create(server)
            present = 0
            for depth in mine:
                say(f"queue at depth {depth.depth:,}: {kind.name}")
                fill(server, depth.depth - present)
                present = depth.depth
                depth.measure(server, brief)
                demand_depth(server, present)
    for depth in depths[1:]:
        depth.compare(depths[0])


def rows(plan):
    depths = [Depth(depth, plan.depths[0], plan.essential) for depth in plan.depths]
    return [Row("queue", "messages, in queues of growing depth",
                [workload for depth in depths for workload in depth.workloads()],
                functools.partial(measure, depths), quick=True)]
