/*
 * test_hasher.c - MD5 beside the caller is the MD5 of the same bytes, however they are cut, and
 * nobody keeps another from having it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/hasher.h"

enum { UPLOADS = 8, SLOW = 100 };

static char bytes[3 * 1024 * 1024 + 17];

static _Thread_local size_t hashed_here_bytes; /* by this thread */

/* In front of nettle's, to see who hashes. */
void nettle_md5_update(struct md5_ctx *ctx, size_t length, const uint8_t *data)
{
    void (*update)(struct md5_ctx *, size_t, const uint8_t *);
    void *found = dlsym(RTLD_NEXT, "nettle_md5_update");
    memcpy(&update, &found, sizeof(update)); /* C has no cast from data to functions */
    hashed_here_bytes += length;
    update(ctx, length, data);
}

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 31 + i / 251);
    return 0;
}

static void md5_of(size_t len, uint8_t md5[DIGEST_MD5_BYTES])
{
    struct md5_ctx ctx;
    md5_init(&ctx);
    md5_update(&ctx, len, (const uint8_t *)bytes);
    md5_digest(&ctx, DIGEST_MD5_BYTES, md5);
}

static void hash(struct hasher *hasher, size_t len, size_t piece, uint8_t md5[DIGEST_MD5_BYTES])
{
    for (size_t at = 0; at < len; at += piece)
        hasher_update(hasher, slice_make(bytes + at, len - at < piece ? len - at : piece));
    hasher_finish(hasher, md5);
}

static void assert_hash(size_t len, size_t piece)
{
    uint8_t expected[DIGEST_MD5_BYTES];
    uint8_t got[DIGEST_MD5_BYTES];
    struct hasher hasher;
    hasher_init(&hasher);
    md5_of(len, expected);
    hash(&hasher, len, piece, got);
    assert_memory_equal(got, expected, sizeof(expected));
}

/* Of hashers: sanitizers have threads too. */
static long thread_count(void)
{
    long count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[sizeof("/proc/self/task//comm") + sizeof(task->d_name)];
        char name[16] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue; /* "..", or a thread that has just ended */
        count += fgets(name, sizeof(name), file) != NULL && strcmp(name, "hash\n") == 0;
        fclose(file);
    }
    closedir(tasks);
    return count;
}

static void what_comes_in_crumbs_needs_no_thread(void **state)
{
    (void)state;
    assert_hash(sizeof(bytes), 16);
    assert_int_equal(thread_count(), 0);
}

static void the_hash_is_that_of_the_bytes_however_they_are_cut(void **state)
{
    (void)state;
    static const size_t lengths[] = { 0, 1, 65535, 65536, 65537, 1048576, sizeof(bytes) };
    static const size_t pieces[] = { 977, 4096, 49152, 65536, 262144, sizeof(bytes) };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (size_t j = 0; j < sizeof(pieces) / sizeof(pieces[0]); j++)
            assert_hash(lengths[i], pieces[j]);
}

static void a_hasher_that_is_given_up_in_the_middle_harms_nobody(void **state)
{
    (void)state;
    for (size_t len = 1; len < sizeof(bytes); len = len * 7 + 3) {
        struct hasher hasher;
        hasher_init(&hasher);
        hasher_update(&hasher, slice_make(bytes, len));
        hasher_abort(&hasher);
        memset(&hasher, 0xA5, sizeof(hasher));
        assert_hash(sizeof(bytes) / 2, 65536);
    }
}

static void *upload(void *arg)
{
    struct hasher hasher;
    hasher_init(&hasher);
    hash(&hasher, sizeof(bytes), 49152, arg);
    return NULL;
}

static void many_at_once_get_each_their_own_hash(void **state)
{
    (void)state;
    pthread_t threads[UPLOADS];
    uint8_t got[UPLOADS][DIGEST_MD5_BYTES];
    uint8_t expected[DIGEST_MD5_BYTES];
    md5_of(sizeof(bytes), expected);
    for (size_t i = 0; i < UPLOADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, upload, got[i]), 0);
    for (size_t i = 0; i < UPLOADS; i++) {
        pthread_join(threads[i], NULL);
        assert_memory_equal(got[i], expected, sizeof(expected));
    }
    assert_true(thread_count() <= sysconf(_SC_NPROCESSORS_ONLN));
}

static void clients_that_stop_in_the_middle_keep_no_thread_from_the_others(void **state)
{
    (void)state;
    static struct hasher slow[SLOW];
    for (size_t i = 0; i < SLOW; i++) {
        hasher_init(&slow[i]);
        hasher_update(&slow[i], slice_make(bytes, 65536 + 16));
    }
    for (size_t i = 0; i < SLOW; i++)
        hasher_abort(&slow[i]); /* waits for what has arrived; the rest never does */
    hashed_here_bytes = 0;
    assert_hash(sizeof(bytes), sizeof(bytes));
    assert_int_equal(hashed_here_bytes, sizeof(bytes)); /* by md5_of */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_in_crumbs_needs_no_thread),
        cmocka_unit_test(the_hash_is_that_of_the_bytes_however_they_are_cut),
        cmocka_unit_test(a_hasher_that_is_given_up_in_the_middle_harms_nobody),
        cmocka_unit_test(many_at_once_get_each_their_own_hash),
        cmocka_unit_test(clients_that_stop_in_the_middle_keep_no_thread_from_the_others),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
