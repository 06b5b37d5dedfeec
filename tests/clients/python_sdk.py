"""The server through the official Python SDK, whose parser of batches and signer of requests are
other programs than the JavaScript ones.

Run by script/clients; AZURE_STORAGE_CONNECTION_STRING says where the server is.
"""
import os
import unittest
import uuid

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError
from azure.storage.blob import BlobBlock, BlobServiceClient, ContainerClient, generate_container_sas
from azure.storage.blob import AccessPolicy, ContainerSasPermissions, StandardBlobTier

SERVICE = BlobServiceClient.from_connection_string(
    os.environ["AZURE_STORAGE_CONNECTION_STRING"], retry_total=0, max_block_size=1024 * 1024,
    max_single_put_size=1024 * 1024)


class PythonSdk(unittest.TestCase):
    def setUp(self):
        self.container = SERVICE.create_container(f"python-{uuid.uuid4()}")
        self.addCleanup(self.container.delete_container)

    def test_blobs_come_back_in_pieces_and_whole(self):
        data = os.urandom(5_000_000)
        blob = self.container.get_blob_client("dir/größe +%.bin")
        blob.upload_blob(data, metadata={"a": "1"}, max_concurrency=4)
        self.assertEqual(blob.download_blob(max_concurrency=4).readall(), data)
        self.assertEqual(blob.download_blob(offset=1000, length=2000).readall(), data[1000:3000])
        self.assertEqual([item.name for item in self.container.list_blobs(name_starts_with="dir/")],
                         ["dir/größe +%.bin"])

    def test_conditions_are_kept(self):
        blob = self.container.get_blob_client("b")
        blob.upload_blob(b"1")
        with self.assertRaises(ResourceExistsError):
            blob.upload_blob(b"2")
        etag = blob.get_blob_properties().etag
        blob.upload_blob(b"2", overwrite=True)
        with self.assertRaises(ResourceModifiedError):
            blob.upload_blob(b"3", overwrite=True, etag=etag,
                             match_condition=MatchConditions.IfNotModified)

    def test_blocks_appends_and_pages(self):
        block = self.container.get_blob_client("block")
        block.stage_block("YQ==", b"a")
        block.stage_block("Yg==", b"b")
        block.commit_block_list([BlobBlock("Yg=="), BlobBlock("YQ==")])
        self.assertEqual(block.download_blob().readall(), b"ba")
        append = self.container.get_blob_client("append")
        append.create_append_blob()
        append.append_block(b"x")
        append.append_block(b"y", appendpos_condition=1)
        self.assertEqual(append.download_blob().readall(), b"xy")
        page = self.container.get_blob_client("page")
        page.create_page_blob(2048)
        page.upload_page(b"p" * 512, 512, 512)
        self.assertEqual([(found.start, found.end) for found in page.list_page_ranges()],
                         [(512, 1023)])

    def test_batches_tell_each_outcome(self):
        for name in ("a", "b", "c d"):
            self.container.upload_blob(name, b"")
        answers = list(self.container.delete_blobs("a", "none", "c d", raise_on_any_failure=False))
        self.assertEqual([answer.status_code for answer in answers], [202, 404, 202])
        answers = list(self.container.set_standard_blob_tier_blobs(StandardBlobTier.COOL, "b"))
        self.assertEqual([answer.status_code for answer in answers], [200])
        properties = self.container.get_blob_client("b").get_blob_properties()
        self.assertEqual(properties.blob_tier, "Cool")

    def test_tags_are_found(self):
        blob = self.container.upload_blob("b", b"", tags={"colour": "blue green"})
        self.assertEqual(blob.get_blob_tags(), {"colour": "blue green"})
        found = self.container.find_blobs_by_tags("\"colour\"='blue green'")
        self.assertEqual([item.name for item in found], ["b"])

    def test_policies_of_sas(self):
        self.container.upload_blob("b", b"bytes")
        policy = AccessPolicy(ContainerSasPermissions(read=True), expiry="2999-01-01T00:00:00Z")
        self.container.set_container_access_policy({"readers": policy})
        sas = generate_container_sas(SERVICE.account_name, self.container.container_name,
                                     account_key=SERVICE.credential.account_key,
                                     policy_id="readers")
        guest = ContainerClient.from_container_url(f"{self.container.url}?{sas}")
        self.assertEqual(guest.download_blob("b").readall(), b"bytes")
        self.container.set_container_access_policy({})
        with self.assertRaises(HttpResponseError):
            guest.download_blob("b")

    def test_copies_snapshots_and_leases(self):
        blob = self.container.upload_blob("b", b"old")
        snapshot = blob.create_snapshot()
        blob.upload_blob(b"new", overwrite=True)
        old = self.container.get_blob_client("b", snapshot=snapshot["snapshot"])
        self.assertEqual(old.download_blob().readall(), b"old")
        copy = self.container.get_blob_client("copy")
        self.assertEqual(copy.start_copy_from_url(blob.url)["copy_status"], "success")
        lease = copy.acquire_lease(15)
        with self.assertRaises(HttpResponseError):
            copy.delete_blob()
        copy.delete_blob(lease=lease)

    def test_the_service_has_properties(self):
        SERVICE.set_service_properties(static_website=None, target_version="2021-12-02")
        self.assertEqual(SERVICE.get_service_properties()["target_version"], "2021-12-02")
        self.assertEqual(SERVICE.get_account_information()["account_kind"], "StorageV2")


if __name__ == "__main__":
    unittest.main()
