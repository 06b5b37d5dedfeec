/*
 * driver.c - run the files of a corpus through a fuzz target, once each: the regression test that
 * every finding of a fuzzer becomes.
 *
 *   fuzz_<target> FILE|DIRECTORY...
 *
 * Prints a line in cmocka's words, which tools/count_tests.py counts.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t file_count;

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat stat;
    if (file == NULL || fstat(fileno(file), &stat) != 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    const size_t size = (size_t)stat.st_size;
    uint8_t *data = malloc(size == 0 ? 1 : size);
    if (data == NULL || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    /* Said before, so that the input that ends the process is known. */
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    file_count++;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_directory(const char *path)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s is no directory\n", path);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        char file[4096];
        const int len = snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        assert(len > 0 && (size_t)len < sizeof(file));
        run_file(file);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISREG(info.st_mode))
            run_file(argv[i]);
        else
            run_directory(argv[i]);
    }
    if (file_count == 0) {
        fprintf(stderr, "no inputs\n");
        return 1;
    }
    /* No input at all, and an empty one. */
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("[  PASSED  ] %zu test(s).\n", file_count + 1);
    return 0;
}
