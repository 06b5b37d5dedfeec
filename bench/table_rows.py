"""The rows of the table service.

Entities are numbered.  Those with numbers in the same 2,000 share a PartitionKey, the RowKey is the
number in ten digits; batches of 100 load them.  Queries for 1,000 entities name the partition and
bounds of the RowKey, as a query that should not read the whole table does.
"""

import dataclasses

import load
import sas
import steps
from measure import Goal, Workload
from rows import Row, guarded, say
from servers import Azurite, Zaffre
from steps import Cycle, Step

TABLE = "Bench"
BATCH_TABLE = "Batches"  # grows as fast as the server lets it
CONNECTIONS = 32
BATCH = 100
PARTITION = 2000  # entities
RANGE = 1000  # entities of a query: the most that one page holds
FLAT = 1 / 1.5

JSON = ("Accept: application/json;odata=nometadata", "DataServiceVersion: 3.0")
SEND_JSON = (*JSON, "Content-Type: application/json")


def entity(partition_key, row_key):
    """About 300 bytes of JSON, with the types that are common."""
    return (f'{{"PartitionKey":"{partition_key}","RowKey":"{row_key}",'
            '"Name":"@{noise:64}","Count":@{number},"Price":2.5,"Active":true,'
            '"When":"2026-05-04T03:02:01.1234567Z","When@odata.type":"Edm.DateTime",'
            '"Big":"@{number}00","Big@odata.type":"Edm.Int64"}')


def batch_body(table):
    """One change set that inserts the entities number * 100 up to number * 100 + 99."""
    lines = ["--batch_b", "Content-Type: multipart/mixed; boundary=changeset_c", ""]
    for index in range(BATCH):
        lines += ["--changeset_c", "Content-Type: application/http",
                  "Content-Transfer-Encoding: binary", "",
                  f"POST http://127.0.0.1/{sas.ACCOUNT}/{table} HTTP/1.1",
                  "Accept: application/json;odata=nometadata",
                  "Content-Type: application/json", "Prefer: return-no-content",
                  "DataServiceVersion: 3.0", "",
                  entity("p@{partition:6}", f"@{{number:8}}{index:02}")]
    lines += ["--changeset_c--", "--batch_b--", ""]
    return "\r\n".join(lines)


def batch_cycle(server, name, table):
    return Cycle(server, name, CONNECTIONS, [
        Step("POST", sas.target("$batch"), 202, template=batch_body(table),
             headers=(*JSON, "Content-Type: multipart/mixed; boundary=batch_b"),
             contains=(BATCH, "HTTP/1.1 204 ")),
    ], lets=[("partition", "number", PARTITION // BATCH, 0, 1, 0)])


def insert_cycle(server, name, entities):
    """Inserts between the entities that are there: in one of their partitions each."""
    return Cycle(server, name, CONNECTIONS, [
        Step("POST", sas.target(TABLE), 204, headers=(*SEND_JSON, "Prefer: return-no-content"),
             template=entity("p@{partition:6}", f"new-{name}-@{{number}}")),
    ], lets=[("partition", "random", 1, entities // PARTITION, 1, 0)])


def read_cycle(server, name, entities):
    key = "(PartitionKey='p@{partition:6}',RowKey='@{entity:10}')"
    return Cycle(server, name, CONNECTIONS, [
        Step("GET", sas.target(TABLE + key), 200, headers=JSON,
             contains=(1, '"RowKey"')),
    ], lets=[("entity", "random", 1, entities, 1, 0),
             ("partition", "entity", PARTITION, 0, 1, 0)])


def range_cycle(server, name, entities):
    condition = ("PartitionKey%20eq%20'p@{partition:6}'%20and%20RowKey%20ge%20'@{first:10}'"
                 "%20and%20RowKey%20lt%20'@{end:10}'")
    return Cycle(server, name, CONNECTIONS, [
        Step("GET", sas.target(f"{TABLE}()", f"$filter={condition}"), 200, headers=JSON,
             contains=(RANGE, '"RowKey"')),
    ], lets=[("partition", "random", 1, entities // PARTITION, 1, 0),
             ("base", "partition", 1, 0, PARTITION, 0),
             ("first", "random", 1, PARTITION - RANGE + 1, 1, "base"),
             ("end", "first", 1, 0, 1, RANGE)])


# --- what is measured ---

@dataclasses.dataclass
class Size:
    """The workloads at one number of entities in the table."""

    entities: int
    read: Workload
    insert: Workload

    def measure(self, server, plan):
        load.settle(server)
        read = read_cycle(server, f"read-{self.entities}", self.entities)
        read.run(cycles=self.entities // steps.ROWS_PER_WARMING_READ)
        self.read.add(server.name, read.samples(plan))
        self.insert.add(server.name,
                        insert_cycle(server, f"insert-{self.entities}", self.entities)
                        .samples(plan))


def size_of(entities, read_goal, insert_goal):
    where = f"{CONNECTIONS} connections, {entities:,} entities"
    return Size(entities, Workload(f"table: point read, {where}", "/s", [read_goal]),
                Workload(f"table: Insert Entity, {where}", "/s", [insert_goal]))


class Table:
    """All workloads, and the order in which they are measured."""

    def __init__(self, few, many):
        self.batch = Workload(f"table: batches of {BATCH} inserts, {CONNECTIONS} connections",
                              "entities/s", [Goal("Azurite", at_least=10)])
        self.range = Workload(f"table: query of {RANGE:,} of {few:,} entities, {CONNECTIONS} "
                              "connections", "/s", [Goal("Azurite", at_least=10)])
        self.few = size_of(few, Goal("Azurite", at_least=40), Goal("Azurite", at_least=20))
        flat = Goal(f"at {few:,}", at_least=FLAT)
        self.many = size_of(many, flat, flat)

    def beside_azurite(self):
        return [self.few.insert, self.few.read, self.batch, self.range]

    def workloads(self):
        return [*self.beside_azurite(), self.many.insert, self.many.read]

    def measure(self, work, plan):
        for kind in (Zaffre, Azurite):
            mine = self.workloads() if kind is Zaffre else self.beside_azurite()
            with guarded(kind.name, *mine), kind(work, "table") as server:
                self.measure_one(server, plan.brief())
        self.many.read.compare(f"at {self.few.entities:,}", self.few.read)
        self.many.insert.compare(f"at {self.few.entities:,}", self.few.insert)

    def measure_one(self, server, plan):
        create(server, TABLE)
        create(server, BATCH_TABLE)
        say(f"table of {self.few.entities:,} entities: {server.name}")
        loading = batch_cycle(server, "load", TABLE)
        loading.run(cycles=self.few.entities // BATCH)
        # By itself: a server may end a page early when it took long, on a machine others use too.
        with guarded(server.name, self.range):
            self.range.add(server.name,
                           range_cycle(server, "range", self.few.entities).samples(plan))
        self.few.measure(server, plan)
        say(f"table, batches: {server.name}")
        self.batch.add(server.name, batch_cycle(server, "batch", BATCH_TABLE)
                       .samples(plan, per_cycle=BATCH))
        if server.name == "Zaffre":
            say(f"table of {self.many.entities:,} entities: {server.name}")
            loading.run(cycles=self.many.entities // BATCH - loading.number)
            self.many.measure(server, plan)


def create(server, table):
    server.demand(201, "POST", sas.target("Tables"), f'{{"TableName":"{table}"}}',
                  {"Content-Type": "application/json", "DataServiceVersion": "3.0",
                   "Accept": "application/json;odata=nometadata"})


def rows(plan):
    table = Table(*plan.entities)
    return [Row("table", "entities, in tables of growing size", table.workloads(),
                table.measure, quick=True)]
