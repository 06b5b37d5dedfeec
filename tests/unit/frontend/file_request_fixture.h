/*
 * file_request_fixture.h - requests of the file service without a socket, with a table of opens
 * behind them.
 */
#ifndef TESTS_UNIT_FRONTEND_FILE_REQUEST_FIXTURE_H
#define TESTS_UNIT_FRONTEND_FILE_REQUEST_FIXTURE_H

#include "http_request_fixture.h"
#include "service/file/open_table.h"

static inline int files_setup(void **state)
{
    const int result = request_setup(state);
    struct service_fixture *fixture = *state;
    context.kind = &http_file_service;
    fixture->service.opens = open_table_new(&fixture->clock);
    return result;
}

static inline int files_teardown(void **state)
{
    struct service_fixture *fixture = *state;
    struct open_table *opens = fixture->service.opens;
    const int result = request_teardown(state);
    open_table_free(opens);
    return result;
}

#define WITH_FILES(test)                                                                           \
    {                                                                                              \
#test, test, files_setup, files_teardown, &fixture_on_memory                               \
    }

#endif
