-- What every load script shares: numbering of wrk's threads, the strict check of every status,
-- and one line of JSON at the end.  `least` in it is the least `number` of a thread, where a script
-- counts the requests it has made.

local threads = {}

function setup(thread)
    thread:set("thread_index", #threads)
    threads[#threads + 1] = thread
end

-- Count answers whose status is not exactly `expected` ("" counts nothing).  wrk calls
-- `response` only when it exists after init, so that the timed rounds do not pay for it.
function expect_status(expected)
    unexpected = 0
    expected = tonumber(expected)
    if expected then
        function response(status)
            if status ~= expected then
                unexpected = unexpected + 1
            end
        end
    end
end

function done(summary, latency)
    local errors = summary.errors
    local unexpected_all = 0
    local least
    for _, thread in ipairs(threads) do
        unexpected_all = unexpected_all + thread:get("unexpected")
        local number = thread:get("number") or 0
        if not least or number < least then
            least = number
        end
    end
    io.write(string.format(
        '\n{"requests":%d,"duration_us":%d,"bytes":%d,"p50_us":%d,"p99_us":%d,"least":%d,' ..
        '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,"unexpected":%d}\n',
        summary.requests, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(99), least,
        errors.connect, errors.read, errors.write, errors.status, errors.timeout,
        unexpected_all))
end
