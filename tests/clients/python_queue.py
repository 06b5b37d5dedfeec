"""The queue service through the official Python SDK.

Run by script/clients; AZURE_STORAGE_CONNECTION_STRING says where the server is.
"""
import os
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import AccessPolicy, QueueClient, QueueSasPermissions, QueueServiceClient
from azure.storage.queue import BinaryBase64DecodePolicy, BinaryBase64EncodePolicy
from azure.storage.queue import TextBase64DecodePolicy, TextBase64EncodePolicy, generate_queue_sas

CONNECTION = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
SERVICE = QueueServiceClient.from_connection_string(CONNECTION, retry_total=0)


class PythonQueue(unittest.TestCase):
    def setUp(self):
        self.name = f"python-{uuid.uuid4()}"
        self.queue = SERVICE.create_queue(self.name, metadata={"owner": "me"})
        self.addCleanup(self.queue.delete_queue)

    def test_messages_go_in_and_come_out(self):
        sent = self.queue.send_message("a < b & ü")
        self.assertEqual([item.content for item in self.queue.peek_messages(32)], ["a < b & ü"])
        got = list(self.queue.receive_messages(messages_per_page=32, visibility_timeout=60))
        self.assertEqual([(item.id, item.content, item.dequeue_count) for item in got],
                         [(sent.id, "a < b & ü", 1)])
        updated = self.queue.update_message(got[0], visibility_timeout=0, content="new")
        with self.assertRaises(HttpResponseError) as caught:
            self.queue.delete_message(got[0])
        self.assertEqual(caught.exception.error_code, "PopReceiptMismatch")
        self.queue.delete_message(updated.id, updated.pop_receipt)
        with self.assertRaises(ResourceNotFoundError):
            self.queue.delete_message(updated.id, updated.pop_receipt)
        self.assertEqual(self.queue.get_queue_properties().approximate_message_count, 0)

    def test_pages_of_messages_follow_each_other(self):
        for i in range(50):
            self.queue.send_message(str(i))
        pages = [[item.content for item in page]
                 for page in self.queue.receive_messages(messages_per_page=20).by_page()]
        self.assertEqual([len(page) for page in pages if page], [20, 20, 10])
        self.assertEqual(sum(pages, []), [str(i) for i in range(50)])
        self.queue.clear_messages()
        self.assertIsNone(self.queue.receive_message())

    def test_encodings_of_the_client(self):
        for encode, decode, content in [
                (TextBase64EncodePolicy(), TextBase64DecodePolicy(), "ü & <"),
                (BinaryBase64EncodePolicy(), BinaryBase64DecodePolicy(), bytes(range(256)))]:
            queue = QueueClient.from_connection_string(
                CONNECTION, self.name, message_encode_policy=encode, message_decode_policy=decode)
            queue.send_message(content)
            got = queue.receive_message()
            self.assertEqual(got.content, content)
            queue.delete_message(got)

    def test_metadata_and_policies(self):
        self.assertEqual(self.queue.get_queue_properties().metadata, {"owner": "me"})
        # This client makes an error of 204, too: the queue is there with the same metadata.
        for metadata, status in [({"owner": "me"}, 204), ({}, 409)]:
            with self.assertRaises(ResourceExistsError) as caught:
                SERVICE.create_queue(self.name, metadata=metadata)
            self.assertEqual(caught.exception.status_code, status)
        self.queue.set_queue_metadata({"owner": "you"})
        found = [item for item in SERVICE.list_queues(self.name, include_metadata=True)]
        self.assertEqual([(item.name, item.metadata) for item in found],
                         [(self.name, {"owner": "you"})])
        hour = datetime.now(timezone.utc) + timedelta(hours=1)
        self.queue.set_queue_access_policy({"p": AccessPolicy(
            permission=QueueSasPermissions(read=True), expiry=hour)})
        sas = generate_queue_sas(SERVICE.account_name, self.name,
                                 SERVICE.credential.account_key, policy_id="p")
        reader = QueueClient(SERVICE.url.rstrip("/"), self.name, credential=sas, retry_total=0)
        self.assertEqual(reader.peek_messages(), [])
        with self.assertRaises(HttpResponseError):
            reader.send_message("x")

    def test_service_properties(self):
        properties = SERVICE.get_service_properties()
        SERVICE.set_service_properties(analytics_logging=properties["analytics_logging"],
                                       hour_metrics=properties["hour_metrics"],
                                       minute_metrics=properties["minute_metrics"],
                                       cors=properties["cors"])
        self.assertEqual(SERVICE.get_service_properties()["cors"], properties["cors"])


if __name__ == "__main__":
    unittest.main()
