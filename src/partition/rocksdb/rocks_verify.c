/*
 * rocks_verify.c - reading the database piece by piece, for the checksums of its blocks.
 *
 * A cursor over all keys comes by every block of every file.  Blocks that are read for this are not
 * kept in the cache: others need it.
 */
#include "partition/rocksdb/rocks_internal.h"

enum err rocks__verify(struct engine *engine, struct arena *arena, struct slice from,
                       uint64_t bytes_max, struct slice *next, uint64_t *bytes)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(read, 1);
    rocksdb_readoptions_set_fill_cache(read, 0);
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(rocks->db, read);
    *bytes = 0;
    rocksdb_iter_seek(iterator, from.data == NULL ? "" : from.data, from.len);
    while (rocksdb_iter_valid(iterator) && *bytes < bytes_max) {
        size_t key_len;
        size_t value_len;
        (void)rocksdb_iter_key(iterator, &key_len);
        (void)rocksdb_iter_value(iterator, &value_len);
        *bytes += key_len + value_len;
        rocksdb_iter_next(iterator);
    }
    *next = (struct slice){ 0 };
    enum err err = OK;
    char *message = NULL;
    rocksdb_iter_get_error(iterator, &message);
    if (message != NULL) {
        err = rocks__error("verifying", message);
    } else if (rocksdb_iter_valid(iterator)) {
        size_t len;
        const char *key = rocksdb_iter_key(iterator, &len);
        *next = arena_copy(arena, slice_make(key, len));
    }
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(read);
    return err;
}
