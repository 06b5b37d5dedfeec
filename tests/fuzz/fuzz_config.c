/*
 * fuzz_config.c - the config file, the command line, and AZURITE_ACCOUNTS.
 *
 * Input: which of them (one byte), and its text; for the command line an argument a line.
 *
 *   - What cannot be read is refused with a sentence; nothing is said otherwise.
 *   - What is read is what config.h promises.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "fuzz.h"
#include "service/account.h"
#include "service/limits.h"

enum {
    ARGUMENTS_MAX = 16,
};

static void parse(int argc, char *const argv[])
{
    struct arena arena = { 0 };
    struct config config = { 0 };
    char *out_text = NULL;
    char *err_text = NULL;
    size_t out_len = 0;
    size_t err_len = 0;
    FILE *out = open_memstream(&out_text, &out_len);
    FILE *err = open_memstream(&err_text, &err_len);
    assert(out != NULL && err != NULL);
    const enum config_status status = config_parse(&config, &arena, argc, argv, out, err);
    fclose(out);
    fclose(err);
    assert((status == CONFIG_DONE) == (out_len > 0));
    assert((status == CONFIG_INVALID) == (err_len > 0));
    if (status == CONFIG_RUN) {
        assert(config.committers > 0);
        assert(config.cert_path == NULL || config.key_path != NULL || config.cert_password != NULL);
        assert(config.oauth == NULL || strcmp(config.oauth, "basic") == 0);
    }
    free(out_text);
    free(err_text);
    arena_release(&arena);
}

static void parse_file(struct slice text)
{
    char path[64];
    const int file = memfd_create("config", 0);
    assert(file >= 0);
    assert(write(file, text.data, text.len) == (ssize_t)text.len);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    char name[] = "zaffre";
    char flag[] = "--config";
    char *const argv[] = { name, flag, path, NULL };
    parse(3, argv);
    close(file);
}

static void parse_arguments(struct slice text)
{
    struct arena arena = { 0 };
    char name[] = "zaffre";
    char *argv[ARGUMENTS_MAX + 1] = { name };
    int argc = 1;
    while (text.len > 0 && argc < ARGUMENTS_MAX) {
        const size_t len = slice_find_byte(text, '\n');
        argv[argc++] = (char *)(uintptr_t)arena_copy(&arena, slice_head(text, len)).data;
        text = slice_from(text, len + 1);
        /* Other files than ours are none of the fuzzer's business. */
        if (strstr(argv[argc - 1], "config") != NULL)
            argv[argc - 1] = name;
    }
    parse(argc, argv);
    arena_release(&arena);
}

static void parse_accounts(struct slice text)
{
    struct arena arena = { 0 };
    struct account_list *list = NULL;
    const char *fault = NULL;
    const enum err err = account_list_new(arena_copy(&arena, text).data, &list, &fault);
    assert((err == OK) == (list != NULL));
    assert((err == OK) == (fault == NULL));
    if (err == OK) {
        assert(account_list_count(list) > 0 && account_list_count(list) <= LIMIT_ACCOUNTS_MAX);
        for (size_t i = 0; i < account_list_count(list); i++) {
            const struct account *account = account_list_get(list, i);
            assert(account->key_count >= 1 && account->key_count <= ACCOUNT_KEYS_MAX);
            assert(account_find(list, slice_of(account->name)) == account);
        }
    }
    account_list_free(list);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    const size_t kind = fuzz_below(&input, 3);
    if (kind == 0)
        parse_file(input.rest);
    else if (kind == 1)
        parse_arguments(input.rest);
    else
        parse_accounts(input.rest);
    return 0;
}
