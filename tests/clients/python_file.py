"""The file service through the official Python SDK.

Run by script/clients; AZURE_STORAGE_CONNECTION_STRING says where the server is.
"""
import os
import unittest
import uuid

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.fileshare import ShareServiceClient

CONNECTION = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
SERVICE = ShareServiceClient.from_connection_string(CONNECTION, retry_total=0)
SDDL = ("O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-"
        "1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)")


class PythonFile(unittest.TestCase):
    def setUp(self):
        self.name = f"python-{uuid.uuid4()}"
        self.share = SERVICE.create_share(self.name, metadata={"owner": "me"}, quota=3)
        self.addCleanup(self.share.delete_share, delete_snapshots=True)
        self.directory = self.share.create_directory("Dir")

    def test_content_goes_in_and_comes_out(self):
        content = os.urandom(9_000_000)
        file = self.directory.upload_file("a.bin", content, max_concurrency=4)
        self.assertEqual(file.download_file(max_concurrency=4).readall(), content)
        self.assertEqual(file.download_file(offset=5, length=7).readall(), content[5:12])
        file.upload_range(b"x" * 512, offset=512, length=512)
        file.clear_range(offset=0, length=512)
        self.assertEqual(file.get_ranges(), [{"start": 512, "end": len(content) - 1}])
        file.resize_file(600)
        self.assertEqual(file.download_file().readall(), bytes(512) + b"x" * 88)

    def test_a_listing_has_what_was_made(self):
        self.directory.upload_file("one", b"1")
        self.directory.create_subdirectory("two")
        found = self.directory.list_directories_and_files(
            include=["timestamps", "Etag", "Attributes", "PermissionKey"])
        self.assertEqual([(item.name, item.is_directory, item.file_attributes) for item in found],
                         [("two", True, "Directory"), ("one", False, "Archive")])
        with self.assertRaises(ResourceExistsError):
            self.share.create_directory("dir")
        with self.assertRaises(HttpResponseError) as caught:
            self.directory.delete_directory()
        self.assertEqual(caught.exception.error_code, "DirectoryNotEmpty")

    def test_files_and_directories_are_renamed(self):
        file = self.directory.upload_file("old", b"content")
        moved = file.rename_file("Dir/new")
        self.assertEqual(moved.download_file().readall(), b"content")
        self.directory.rename_directory("other")
        self.assertEqual(self.share.get_file_client("other/new").download_file().readall(),
                         b"content")
        with self.assertRaises(ResourceNotFoundError):
            moved.get_file_properties()

    def test_a_copy_is_there_at_once(self):
        file = self.directory.upload_file("source", b"content", metadata={"a": "b"})
        copy = self.share.get_file_client("copy")
        self.assertEqual(copy.start_copy_from_url(file.url)["copy_status"], "success")
        self.assertEqual(copy.download_file().readall(), b"content")
        self.assertEqual(copy.get_file_properties().metadata, {"a": "b"})

    def test_a_snapshot_stays_as_it_was(self):
        file = self.directory.upload_file("file", b"before")
        snapshot = self.share.create_snapshot()
        file.upload_file(b"after")
        old = SERVICE.get_share_client(self.name, snapshot=snapshot).get_file_client("dir/FILE")
        self.assertEqual(old.download_file().readall(), b"before")
        self.assertEqual(file.download_file().readall(), b"after")
        listed = [item.snapshot for item in SERVICE.list_shares(self.name, include_snapshots=True)]
        self.assertEqual(listed, [snapshot["snapshot"], None])

    def test_a_lease_guards_a_file(self):
        file = self.directory.upload_file("leased", b"content")
        lease = file.acquire_lease()
        with self.assertRaises(HttpResponseError) as caught:
            file.delete_file()
        self.assertEqual(caught.exception.error_code, "LeaseIdMissing")
        file.upload_range(b"C", offset=0, length=1, lease=lease)
        lease.release()
        file.delete_file()

    def test_permissions_and_handles(self):
        key = self.share.create_permission_for_share(SDDL)
        self.assertEqual(self.share.get_permission_for_share(key), SDDL + "S:NO_ACCESS_CONTROL")
        file = self.directory.get_file_client("secured")
        file.create_file(1, permission_key=key)
        self.assertEqual(file.get_file_properties().permission_key, key)
        self.assertEqual(list(self.directory.list_handles(recursive=True)), [])
        closed = self.directory.close_all_handles(recursive=True)
        self.assertEqual(closed["closed_handles_count"], 0)


if __name__ == "__main__":
    unittest.main()
