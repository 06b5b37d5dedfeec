"""The table service through the official Python SDK.

Run by script/clients; AZURE_STORAGE_CONNECTION_STRING says where the server is.
"""
import math
import os
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError
from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import EdmType, EntityProperty, TableAccessPolicy, TableClient
from azure.data.tables import TableServiceClient, TableTransactionError, UpdateMode
from azure.data.tables import generate_table_sas

CONNECTION = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
FACTS = dict(part.split("=", 1) for part in CONNECTION.split(";") if part)
SERVICE = TableServiceClient.from_connection_string(CONNECTION, retry_total=0)


class PythonTable(unittest.TestCase):
    def setUp(self):
        self.name = f"python{uuid.uuid4().hex}"
        self.table = SERVICE.create_table(self.name)
        self.addCleanup(self.table.delete_table)

    def test_values_of_every_type_come_back(self):
        entity = {
            "PartitionKey": "it's", "RowKey": "ü %", "text": "a \"b\" \\ ü", "small": 5,
            "big": EntityProperty(2 ** 40, EdmType.INT64), "half": 0.5, "whole": 5.0, "yes": True,
            "when": datetime(2020, 1, 2, 3, 4, 5, tzinfo=timezone.utc), "id": uuid.uuid4(),
            "bytes": bytes(range(256)), "infinite": math.inf,
        }
        self.table.create_entity({**entity, "nan": math.nan})
        read = dict(self.table.get_entity("it's", "ü %"))
        self.assertTrue(math.isnan(read.pop("nan")))
        self.assertEqual(read.pop("big").value, 2 ** 40)
        self.assertEqual(read, {key: value for key, value in entity.items() if key != "big"})

    def test_texts_with_types_are_read_as_their_types(self):
        self.table.upsert_entity({
            "PartitionKey": "p", "RowKey": "r", "no": ("false", "Edm.Boolean"),
            "number": ("23", "Edm.Int32"), "amount": ("0", EdmType.DOUBLE),
            "since": ("2008-07-10", EdmType.DATETIME)})
        read = self.table.get_entity("p", "r")
        self.assertEqual((read["no"], read["number"], read["amount"]), (False, 23, 0.0))
        with self.assertRaises(HttpResponseError) as caught:
            self.table.upsert_entity(
                {"PartitionKey": "p", "RowKey": "r", "id": ("no guid", EdmType.GUID)})
        self.assertEqual(caught.exception.status_code, 400)

    def test_an_old_etag_is_refused(self):
        entity = {"PartitionKey": "p", "RowKey": "r", "n": 1}
        etag = self.table.create_entity(entity)["etag"]
        condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        self.table.update_entity({**entity, "n": 2}, mode=UpdateMode.REPLACE, **condition)
        with self.assertRaises(ResourceModifiedError):
            self.table.update_entity({**entity, "n": 3}, mode=UpdateMode.MERGE, **condition)
        with self.assertRaises(ResourceModifiedError):
            self.table.delete_entity("p", "r", **condition)
        self.assertEqual(self.table.get_entity("p", "r")["n"], 2)
        with self.assertRaises(ResourceExistsError):
            self.table.create_entity(entity)
        self.table.delete_entity("p", "r")
        with self.assertRaises(ResourceNotFoundError):
            self.table.get_entity("p", "r")

    def test_transactions_are_all_or_nothing(self):
        rows = [{"PartitionKey": "p", "RowKey": str(i)} for i in range(100)]
        answers = self.table.submit_transaction([("upsert", row) for row in rows])
        self.assertEqual(len(answers), 100)
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction([
                ("create", {"PartitionKey": "p", "RowKey": "new"}), ("create", rows[5])])
        self.assertEqual(caught.exception.index, 1)
        self.assertEqual(caught.exception.error_code, "EntityAlreadyExists")
        self.assertEqual(len(list(self.table.list_entities())), 100)

    def test_queries_go_page_by_page(self):
        self.table.submit_transaction([
            ("create", {"PartitionKey": "p", "RowKey": f"{i:03}", "n": i}) for i in range(50)])
        found = self.table.query_entities(
            "PartitionKey eq @pk and n ge @least", parameters={"pk": "p", "least": 10},
            select=["n"], results_per_page=7)
        pages = [[entity["n"] for entity in page] for page in found.by_page()]
        self.assertEqual(sum(pages, []), list(range(10, 50)))
        self.assertTrue(all(len(page) <= 7 for page in pages))

    def test_policies_and_signatures(self):
        soon = datetime.now(timezone.utc) + timedelta(hours=1)
        self.table.set_table_access_policy(
            {"readers": TableAccessPolicy(permission="r", expiry=soon)})
        self.assertEqual(self.table.get_table_access_policy()["readers"].permission, "r")
        for row in "abc":
            self.table.create_entity({"PartitionKey": row, "RowKey": "r"})
        key = AzureNamedKeyCredential(FACTS["AccountName"], FACTS["AccountKey"])
        sas = generate_table_sas(key, self.name, permission="ra", expiry=soon,
                                 start_pk="b", end_pk="b")
        client = TableClient(FACTS["TableEndpoint"], self.name,
                             credential=AzureSasCredential(sas), retry_total=0)
        self.assertEqual([entity["PartitionKey"] for entity in client.list_entities()], ["b"])
        client.create_entity({"PartitionKey": "b", "RowKey": "s"})
        with self.assertRaises(HttpResponseError) as caught:
            client.create_entity({"PartitionKey": "c", "RowKey": "s"})
        self.assertEqual(caught.exception.status_code, 403)

    def test_tables_are_listed(self):
        self.assertIn(self.name, [table.name for table in SERVICE.list_tables()])
        found = SERVICE.query_tables(f"TableName eq '{self.name}'")
        self.assertEqual([table.name for table in found], [self.name])
        with self.assertRaises(ResourceExistsError):
            SERVICE.create_table(self.name)
        SERVICE.create_table_if_not_exists(self.name)


if __name__ == "__main__":
    unittest.main()
