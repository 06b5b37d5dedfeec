/*
 * io_memory.c - io.h on memory: the simulated disk of the tests, and the ordinary one of a
 * server that keeps nothing.
 *
 * A file is an array of pages of PAGE_BYTES; a page never written, or punched, takes no memory.
 * A tracked disk also remembers what is durable:
 *
 *   pages   a page changed since its file was synced keeps its contents of then (`synced`);
 *           a sync drops them
 *   size    as it was at the latest sync
 *   names   each has the file it names now and the one it named when its directory was synced
 *
 * A power cut chooses between then and now: page by page, some pages torn between sectors, and
 * name by name.  No log of writes is kept, so the memory for it is bounded by the bytes that
 * wait for a sync.
 *
 * Threads: one mutex guards everything of a disk.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/io_ops.h"
#include "base/log.h"
#include "base/mutex.h"

enum {
    PAGE_BYTES = 4096,
    SECTOR_BYTES = 512, /* what a power cut does not tear */
};

/* All zero bytes is a clean page of zeroes. */
struct page {
    char *data;   /* NULL: all zeroes */
    char *synced; /* dirty: as at the latest sync; NULL: all zeroes */
    bool dirty;
};

/* The contents of a file, or a directory, which has none. */
struct node {
    unsigned refs; /* names, present and synced, and open files */
    bool directory;
    uint64_t size_bytes;
    uint64_t synced_size_bytes;
    uint64_t write_count; /* writes, holes and truncations */
    struct page *pages;
    size_t page_count;
    size_t *dirty_indexes;
    size_t dirty_count;
    size_t dirty_capacity;
    struct node *survivor; /* its copy, while a power cut is computed */
};

/* A name is in the list while it names, or named at the latest sync, anything. */
struct name {
    struct name *next;
    char *path;
    struct node *current; /* NULL: removed */
    struct node *synced;  /* NULL: made since the latest sync */
    uint64_t change;      /* number of the latest change; the two names of a rename share it */
};

struct memory_io {
    struct io io;
    bool tracked;       /* set at creation */
    uint64_t bytes_max; /* set at creation; 0: no limit */
    _Atomic uint64_t calls;

    /* under lock */
    struct mutex lock;
    struct name *names; /* in the order they were made, so parents come first */
    uint64_t changes;
    uint64_t fail_at_call; /* 0: none */
    enum err fail_with;
    uint64_t page_bytes; /* memory in pages' contents */
};

struct memory_file {
    struct io_file file;
    struct memory_io *io;
    struct node *node;
};

static const struct io_ops memory_ops;

static struct memory_io *memory_of(struct io *io)
{
    assert(io->ops == &memory_ops);
    return (struct memory_io *)io;
}

static struct memory_file *memory_file_of(struct io_file *file)
{
    assert(file->ops == &memory_ops);
    return (struct memory_file *)file;
}

static void *must(void *memory)
{
    if (memory == NULL)
        panic("out of memory");
    return memory;
}

/* Count a call that can fail, and say whether this is the one that shall. */
static enum err memory_step(struct memory_io *io)
{
    const uint64_t call = atomic_fetch_add(&io->calls, 1) + 1;
    return call == io->fail_at_call ? io->fail_with : OK;
}

/* --- pages --- */

static char *page_data_new(struct memory_io *io)
{
    io->page_bytes += PAGE_BYTES;
    return must(calloc(1, PAGE_BYTES));
}

static void page_data_free(struct memory_io *io, char *data)
{
    if (data == NULL)
        return;
    assert(io->page_bytes >= PAGE_BYTES);
    io->page_bytes -= PAGE_BYTES;
    free(data);
}

static struct page *node_page(struct node *node, size_t index)
{
    if (index >= node->page_count) {
        const size_t count = index + 1 + node->page_count / 2;
        node->pages = must(realloc(node->pages, count * sizeof(*node->pages)));
        memset(node->pages + node->page_count, 0,
               (count - node->page_count) * sizeof(*node->pages));
        node->page_count = count;
    }
    return &node->pages[index];
}

static void node_remember_dirty(struct node *node, size_t index)
{
    if (node->dirty_count == node->dirty_capacity) {
        node->dirty_capacity = node->dirty_capacity * 2 + 16;
        node->dirty_indexes =
            must(realloc(node->dirty_indexes, node->dirty_capacity * sizeof(*node->dirty_indexes)));
    }
    node->dirty_indexes[node->dirty_count++] = index;
}

/* Set the page's contents aside if they are the synced ones; then it is all zeroes. */
static void page_clear(struct memory_io *io, struct node *node, size_t index)
{
    if (index >= node->page_count)
        return;
    struct page *page = &node->pages[index];
    if (page->data == NULL)
        return;
    if (io->tracked && !page->dirty) {
        page->synced = page->data;
        page->dirty = true;
        node_remember_dirty(node, index);
    } else {
        page_data_free(io, page->data);
    }
    page->data = NULL;
}

/* Contents that may be changed, the synced ones being kept apart. */
static char *page_writable(struct memory_io *io, struct node *node, size_t index)
{
    struct page *page = node_page(node, index);
    if (io->tracked && !page->dirty) {
        page->synced = page->data;
        page->dirty = true;
        node_remember_dirty(node, index);
        page->data = page_data_new(io);
        if (page->synced != NULL)
            memcpy(page->data, page->synced, PAGE_BYTES);
    } else if (page->data == NULL) {
        page->data = page_data_new(io);
    }
    return page->data;
}

/* --- nodes --- */

static struct node *node_new(void)
{
    return must(calloc(1, sizeof(struct node)));
}

static void node_unref(struct memory_io *io, struct node *node)
{
    if (node == NULL)
        return;
    assert(node->refs > 0);
    node->refs--;
    if (node->refs > 0)
        return;
    for (size_t i = 0; i < node->page_count; i++) {
        page_data_free(io, node->pages[i].data);
        page_data_free(io, node->pages[i].synced);
    }
    free(node->pages);
    free(node->dirty_indexes);
    free(node);
}

static struct node *node_ref(struct node *node)
{
    if (node != NULL)
        node->refs++;
    return node;
}

static void node_write(struct memory_io *io, struct node *node, uint64_t offset, struct slice bytes)
{
    while (bytes.len > 0) {
        const size_t in_page = (size_t)(offset % PAGE_BYTES);
        const struct slice part = slice_head(bytes, PAGE_BYTES - in_page);
        memcpy(page_writable(io, node, (size_t)(offset / PAGE_BYTES)) + in_page, part.data,
               part.len);
        offset += part.len;
        bytes = slice_from(bytes, part.len);
        if (node->size_bytes < offset)
            node->size_bytes = offset;
    }
}

/* Zeroes from `offset` up to `end`; whole pages give their memory back. */
static void node_clear(struct memory_io *io, struct node *node, uint64_t offset, uint64_t end)
{
    const uint64_t pages_end = (uint64_t)node->page_count * PAGE_BYTES;
    if (end > pages_end)
        end = pages_end;
    while (offset < end) {
        const size_t index = (size_t)(offset / PAGE_BYTES);
        const size_t in_page = (size_t)(offset % PAGE_BYTES);
        const uint64_t left = end - offset;
        const size_t len = left < PAGE_BYTES - in_page ? (size_t)left : PAGE_BYTES - in_page;
        if (len == PAGE_BYTES)
            page_clear(io, node, index);
        else if (node->pages[index].data != NULL)
            memset(page_writable(io, node, index) + in_page, 0, len);
        offset += len;
    }
}

static size_t node_read(const struct node *node, uint64_t offset, char *buf, size_t len)
{
    if (offset >= node->size_bytes)
        return 0;
    if (len > node->size_bytes - offset)
        len = (size_t)(node->size_bytes - offset);
    size_t done = 0;
    while (done < len) {
        const size_t index = (size_t)((offset + done) / PAGE_BYTES);
        const size_t in_page = (size_t)((offset + done) % PAGE_BYTES);
        const size_t part = len - done < PAGE_BYTES - in_page ? len - done : PAGE_BYTES - in_page;
        const char *data = index < node->page_count ? node->pages[index].data : NULL;
        if (data != NULL)
            memcpy(buf + done, data + in_page, part);
        else
            memset(buf + done, 0, part);
        done += part;
    }
    return len;
}

static void node_sync(struct memory_io *io, struct node *node)
{
    for (size_t i = 0; i < node->dirty_count; i++) {
        struct page *page = &node->pages[node->dirty_indexes[i]];
        page_data_free(io, page->synced);
        page->synced = NULL;
        page->dirty = false;
    }
    node->dirty_count = 0;
    node->synced_size_bytes = node->size_bytes;
}

/* --- names --- */

static struct name *name_find(struct memory_io *io, const char *path)
{
    for (struct name *name = io->names; name != NULL; name = name->next) {
        if (strcmp(name->path, path) == 0)
            return name;
    }
    return NULL;
}

/* What a path names now, or NULL. */
static struct node *name_lookup(struct memory_io *io, const char *path)
{
    const struct name *name = name_find(io, path);
    return name == NULL ? NULL : name->current;
}

/* The last component of `path` if it lies directly in `directory`, or NULL. */
static const char *name_in(const char *path, const char *directory)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strcmp(directory, ".") == 0 ? path : NULL;
    const size_t len = (size_t)(slash - path);
    return strlen(directory) == len && memcmp(path, directory, len) == 0 ? slash + 1 : NULL;
}

static bool directory_exists(struct memory_io *io, const char *path)
{
    if (strcmp(path, ".") == 0)
        return true;
    const struct node *node = name_lookup(io, path);
    return node != NULL && node->directory;
}

static bool parent_exists(struct memory_io *io, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return true;
    char *parent = must(strndup(path, (size_t)(slash - path)));
    const bool exists = directory_exists(io, parent);
    free(parent);
    return exists;
}

/* Let `path` name `node` (NULL: nothing) from now on. */
static void name_set(struct memory_io *io, const char *path, struct node *node, uint64_t change)
{
    struct name *name = name_find(io, path);
    if (name == NULL) {
        name = must(calloc(1, sizeof(*name)));
        name->path = must(strdup(path));
        struct name **end = &io->names;
        while (*end != NULL)
            end = &(*end)->next;
        *end = name;
    }
    node_ref(node);
    node_unref(io, name->current);
    name->current = node;
    name->change = change;
}

/* Forget the names that name nothing, neither now nor after a power cut. */
static void names_prune(struct memory_io *io)
{
    struct name **at = &io->names;
    while (*at != NULL) {
        struct name *name = *at;
        if (name->current != NULL || name->synced != NULL) {
            at = &name->next;
            continue;
        }
        *at = name->next;
        free(name->path);
        free(name);
    }
}

static void names_free(struct memory_io *io)
{
    for (struct name *name = io->names; name != NULL; name = name->next) {
        node_unref(io, name->current);
        node_unref(io, name->synced);
        name->current = NULL;
        name->synced = NULL;
    }
    names_prune(io);
}

/* --- the table --- */

static enum err mkdir_locked(struct memory_io *io, const char *path)
{
    const enum err err = memory_step(io);
    if (err != OK)
        return err;
    if (!parent_exists(io, path))
        return ERR_NOT_FOUND;
    if (strcmp(path, ".") == 0 || name_lookup(io, path) != NULL)
        return ERR_EXISTS;
    struct node *node = node_new();
    node->directory = true;
    name_set(io, path, node, ++io->changes);
    return OK;
}

static enum err memory_mkdir(struct io *io, const char *path)
{
    struct memory_io *self = memory_of(io);
    mutex_lock(&self->lock);
    const enum err err = mkdir_locked(self, path);
    mutex_unlock(&self->lock);
    return err;
}

static enum err unlink_locked(struct memory_io *io, const char *path)
{
    const enum err err = memory_step(io);
    if (err != OK)
        return err;
    const struct node *node = name_lookup(io, path);
    if (node == NULL)
        return ERR_NOT_FOUND;
    if (node->directory)
        return ERR_IO;
    name_set(io, path, NULL, ++io->changes);
    names_prune(io);
    return OK;
}

static enum err memory_unlink(struct io *io, const char *path)
{
    struct memory_io *self = memory_of(io);
    mutex_lock(&self->lock);
    const enum err err = unlink_locked(self, path);
    mutex_unlock(&self->lock);
    return err;
}

static enum err rename_locked(struct memory_io *io, const char *from, const char *to)
{
    const enum err err = memory_step(io);
    if (err != OK)
        return err;
    struct node *node = name_lookup(io, from);
    if (node == NULL || !parent_exists(io, to))
        return ERR_NOT_FOUND;
    /* Directories are not moved: the names in them would have to be rewritten. */
    if (node->directory || directory_exists(io, to))
        return ERR_IO;
    if (strcmp(from, to) == 0)
        return OK;
    io->changes++;
    name_set(io, to, node, io->changes);
    name_set(io, from, NULL, io->changes);
    names_prune(io);
    return OK;
}

static enum err memory_rename(struct io *io, const char *from, const char *to)
{
    struct memory_io *self = memory_of(io);
    mutex_lock(&self->lock);
    const enum err err = rename_locked(self, from, to);
    mutex_unlock(&self->lock);
    return err;
}

static enum err sync_dir_locked(struct memory_io *io, const char *path)
{
    const enum err err = memory_step(io);
    if (err != OK)
        return err;
    if (!directory_exists(io, path))
        return ERR_NOT_FOUND;
    if (!io->tracked)
        return OK;
    for (struct name *name = io->names; name != NULL; name = name->next) {
        if (name_in(name->path, path) == NULL)
            continue;
        node_ref(name->current);
        node_unref(io, name->synced);
        name->synced = name->current;
    }
    names_prune(io);
    return OK;
}

static enum err memory_sync_dir(struct io *io, const char *path)
{
    struct memory_io *self = memory_of(io);
    mutex_lock(&self->lock);
    const enum err err = sync_dir_locked(self, path);
    mutex_unlock(&self->lock);
    return err;
}

/* The names are copied first, so that `fn` may call the io. */
static enum err list_locked(struct memory_io *io, const char *path, char ***names, size_t *count)
{
    const enum err err = memory_step(io);
    if (err != OK)
        return err;
    if (!directory_exists(io, path))
        return ERR_NOT_FOUND;
    for (const struct name *name = io->names; name != NULL; name = name->next) {
        const char *last = name_in(name->path, path);
        if (last == NULL || name->current == NULL)
            continue;
        *names = must(realloc(*names, (*count + 1) * sizeof(**names)));
        (*names)[(*count)++] = must(strdup(last));
    }
    return OK;
}

static enum err memory_list(struct io *io, const char *path,
                            void (*fn)(void *arg, const char *name), void *arg)
{
    struct memory_io *self = memory_of(io);
    char **names = NULL;
    size_t count = 0;
    mutex_lock(&self->lock);
    const enum err err = list_locked(self, path, &names, &count);
    mutex_unlock(&self->lock);
    for (size_t i = 0; i < count; i++) {
        fn(arg, names[i]);
        free(names[i]);
    }
    free(names);
    return err;
}

static enum err open_locked(struct memory_io *io, const char *path, enum io_open_mode mode,
                            struct node **node)
{
    const enum err err = memory_step(io);
    if (err != OK)
        return err;
    *node = name_lookup(io, path);
    if (mode == IO_OPEN_CREATE) {
        if (*node != NULL)
            return ERR_EXISTS;
        if (!parent_exists(io, path))
            return ERR_NOT_FOUND;
        *node = node_new();
        name_set(io, path, *node, ++io->changes);
    }
    if (*node == NULL)
        return ERR_NOT_FOUND;
    if ((*node)->directory)
        return ERR_IO;
    node_ref(*node);
    return OK;
}

static enum err memory_file_open(struct io *io, const char *path, enum io_open_mode mode,
                                 struct io_file **file)
{
    struct memory_io *self = memory_of(io);
    struct node *node = NULL;
    mutex_lock(&self->lock);
    const enum err err = open_locked(self, path, mode, &node);
    mutex_unlock(&self->lock);
    if (err != OK)
        return err;

    struct memory_file *opened = must(malloc(sizeof(*opened)));
    *opened = (struct memory_file){ .file = { .ops = &memory_ops }, .io = self, .node = node };
    *file = &opened->file;
    return OK;
}

static void memory_file_close(struct io_file *file)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    node_unref(opened->io, opened->node);
    mutex_unlock(&opened->io->lock);
    free(opened);
}

static enum err memory_space(struct io *io, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct memory_io *self = memory_of(io);
    mutex_lock(&self->lock);
    const uint64_t used = self->page_bytes;
    mutex_unlock(&self->lock);
    const uint64_t total = self->bytes_max == 0 ? UINT64_MAX : self->bytes_max;
    *total_bytes = total;
    *free_bytes = total == UINT64_MAX ? total : used < total ? total - used : 0;
    return OK;
}

static bool is_full(const struct memory_io *io, size_t more)
{
    return io->bytes_max != 0 && io->page_bytes + more > io->bytes_max;
}

static enum err memory_file_write(struct io_file *file, uint64_t offset, struct slice bytes)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    enum err err = memory_step(opened->io);
    if (err != OK)
        bytes = slice_head(bytes, bytes.len / 2);
    if (is_full(opened->io, bytes.len)) {
        bytes = (struct slice){ 0 };
        err = ERR_NO_SPACE;
    }
    node_write(opened->io, opened->node, offset, bytes);
    opened->node->write_count++;
    mutex_unlock(&opened->io->lock);
    return err;
}

static enum err memory_file_read(struct io_file *file, uint64_t offset, void *buf, size_t len,
                                 size_t *got)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    const enum err err = memory_step(opened->io);
    if (err == OK)
        *got = node_read(opened->node, offset, buf, len);
    mutex_unlock(&opened->io->lock);
    return err;
}

static enum err memory_file_sync(struct io_file *file)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    const enum err err = memory_step(opened->io);
    if (err == OK)
        node_sync(opened->io, opened->node);
    mutex_unlock(&opened->io->lock);
    return err;
}

static void memory_file_write_behind(struct io_file *file, uint64_t offset, uint64_t len)
{
    (void)file;
    (void)offset;
    (void)len;
}

static enum err memory_file_punch(struct io_file *file, uint64_t offset, uint64_t len)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    const enum err err = memory_step(opened->io);
    if (err == OK)
        node_clear(opened->io, opened->node, offset, offset + len);
    opened->node->write_count++;
    mutex_unlock(&opened->io->lock);
    return err;
}

static enum err memory_file_truncate(struct io_file *file, uint64_t size_bytes)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    const enum err err = memory_step(opened->io);
    if (err == OK) {
        node_clear(opened->io, opened->node, size_bytes, UINT64_MAX);
        opened->node->size_bytes = size_bytes;
    }
    opened->node->write_count++;
    mutex_unlock(&opened->io->lock);
    return err;
}

static enum err memory_file_size(struct io_file *file, uint64_t *size_bytes)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    const enum err err = memory_step(opened->io);
    if (err == OK)
        *size_bytes = opened->node->size_bytes;
    mutex_unlock(&opened->io->lock);
    return err;
}

static enum err memory_file_stamp(struct io_file *file, uint64_t *stamp)
{
    struct memory_file *opened = memory_file_of(file);
    mutex_lock(&opened->io->lock);
    *stamp = opened->node->write_count;
    mutex_unlock(&opened->io->lock);
    return OK;
}

static int memory_file_descriptor(const struct io_file *file)
{
    (void)file;
    return -1;
}

static void memory_free(struct io *io)
{
    struct memory_io *self = memory_of(io);
    names_free(self);
    mutex_release(&self->lock);
    free(self);
}

static const struct io_ops memory_ops = {
    .free = memory_free,
    .mkdir = memory_mkdir,
    .unlink = memory_unlink,
    .rename = memory_rename,
    .sync_dir = memory_sync_dir,
    .list = memory_list,
    .space = memory_space,
    .file_open = memory_file_open,
    .file_close = memory_file_close,
    .file_write = memory_file_write,
    .file_read = memory_file_read,
    .file_sync = memory_file_sync,
    .file_write_behind = memory_file_write_behind,
    .file_punch = memory_file_punch,
    .file_truncate = memory_file_truncate,
    .file_size = memory_file_size,
    .file_stamp = memory_file_stamp,
    .file_descriptor = memory_file_descriptor,
};

struct io *io_memory_new_untracked(uint64_t bytes_max)
{
    struct memory_io *self = must(calloc(1, sizeof(*self)));
    self->bytes_max = bytes_max;
    self->io.ops = &memory_ops;
    mutex_init(&self->lock, LOCK_BASE_DISK);
    return &self->io;
}

struct io *io_memory_new(void)
{
    struct io *io = io_memory_new_untracked(0);
    memory_of(io)->tracked = true;
    return io;
}

/* --- the power cut --- */

/* A small generator (splitmix64): the same seed makes the same choices. */
static uint64_t choose(uint64_t *seed)
{
    *seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* How much of what was not synced one file keeps. */
enum fate {
    FATE_NONE,
    FATE_ALL,
    FATE_SOME,
};

static uint64_t survivor_size(const struct node *node, enum fate fate, uint64_t *seed)
{
    const uint64_t then = node->synced_size_bytes;
    const uint64_t now = node->size_bytes;
    if (fate == FATE_NONE)
        return then;
    if (fate == FATE_ALL || then == now)
        return now;
    const uint64_t low = then < now ? then : now;
    const uint64_t high = then < now ? now : then;
    switch (choose(seed) % 3) {
    case 0:
        return then;
    case 1:
        return now;
    default:
        return low + choose(seed) % (high - low);
    }
}

/* Copy what is left of one page.  `fate` is FATE_SOME for a page torn between its sectors. */
static void survivor_page(struct memory_io *left, struct node *copy, const struct node *node,
                          size_t index, enum fate fate, uint64_t *seed)
{
    static const char zeroes[PAGE_BYTES];
    const struct page *page = &node->pages[index];
    const char *now = page->data != NULL ? page->data : zeroes;
    const char *then = page->synced != NULL ? page->synced : zeroes;
    if (!page->dirty)
        then = now;
    if (now == zeroes && then == zeroes)
        return;

    char *data = page_data_new(left);
    for (size_t at = 0; at < PAGE_BYTES; at += SECTOR_BYTES) {
        const bool keep = fate == FATE_ALL || (fate == FATE_SOME && choose(seed) % 2 == 0);
        memcpy(data + at, (keep ? now : then) + at, SECTOR_BYTES);
    }
    node_page(copy, index)->data = data;
}

static struct node *survivor_node(struct memory_io *left, const struct node *node, uint64_t *seed)
{
    struct node *copy = node_new();
    copy->directory = node->directory;
    const enum fate fate = choose(seed) % 4 == 0   ? FATE_NONE
                           : choose(seed) % 3 == 0 ? FATE_ALL
                                                   : FATE_SOME;
    for (size_t i = 0; i < node->page_count; i++) {
        const enum fate page_fate =
            fate != FATE_SOME ? fate : (enum fate)(choose(seed) % (FATE_SOME + 1));
        survivor_page(left, copy, node, i, page_fate, seed);
    }
    const uint64_t size_bytes = survivor_size(node, fate, seed);
    /* Past its end a file holds nothing: later growth finds zeroes there. */
    node_clear(left, copy, size_bytes, UINT64_MAX);
    copy->size_bytes = size_bytes;
    copy->synced_size_bytes = size_bytes;
    return copy;
}

/*
 * The names a power cut leaves, with what they name, as the durable state of `left`, which is
 * tracked only from then on.
 */
static void survive(struct memory_io *io, struct memory_io *left, uint64_t seed)
{
    uint64_t node_seed = seed;
    for (struct name *name = io->names; name != NULL; name = name->next) {
        /* Both names of a rename toss the same coin. */
        uint64_t coin = seed ^ (name->change * UINT64_C(0xD6E8FEB86659FD93));
        struct node *node = choose(&coin) % 2 == 0 ? name->current : name->synced;
        if (node == NULL || !parent_exists(left, name->path))
            continue;
        if (node->survivor == NULL)
            node->survivor = survivor_node(left, node, &node_seed);
        name_set(left, name->path, node->survivor, 0);
        struct name *made = name_find(left, name->path);
        made->synced = node_ref(made->current);
    }
    for (struct name *name = io->names; name != NULL; name = name->next) {
        if (name->current != NULL)
            name->current->survivor = NULL;
        if (name->synced != NULL)
            name->synced->survivor = NULL;
    }
}

struct io *io_memory_survivor(struct io *io, uint64_t seed)
{
    struct memory_io *self = memory_of(io);
    assert(self->tracked);
    struct io *left = io_memory_new_untracked(0);
    mutex_lock(&self->lock);
    survive(self, memory_of(left), seed);
    mutex_unlock(&self->lock);
    memory_of(left)->tracked = true;
    return left;
}

void io_memory_power_cut(struct io *io, uint64_t seed)
{
    struct memory_io *self = memory_of(io);
    struct io *left = io_memory_survivor(io, seed);
    mutex_lock(&self->lock);
    names_free(self);
    assert(self->page_bytes == 0); /* an open file would still hold its pages */
    self->names = memory_of(left)->names;
    self->page_bytes = memory_of(left)->page_bytes;
    memory_of(left)->names = NULL;
    mutex_unlock(&self->lock);
    io_free(left);
}

uint64_t io_memory_bytes(struct io *io)
{
    struct memory_io *self = memory_of(io);
    mutex_lock(&self->lock);
    const uint64_t bytes = self->page_bytes;
    mutex_unlock(&self->lock);
    return bytes;
}

void io_memory_fail_at(struct io *io, uint64_t nth, enum err err)
{
    struct memory_io *self = memory_of(io);
    assert(err != OK);
    mutex_lock(&self->lock);
    self->fail_at_call = nth == 0 ? 0 : atomic_load(&self->calls) + nth;
    self->fail_with = err;
    mutex_unlock(&self->lock);
}

uint64_t io_memory_calls(const struct io *io)
{
    assert(io->ops == &memory_ops);
    return atomic_load(&((const struct memory_io *)io)->calls);
}
