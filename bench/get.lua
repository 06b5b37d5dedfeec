-- GET of one of `count` blobs after the other, beginning at a different one in each thread.
--
--   wrk -s get.lua URL -- STATUS PATH QUERY COUNT        names are PATH .. 0, PATH .. 1, ...

dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "summary.lua")

local requests = {}
local count
local at

function init(args)
    expect_status(args[1])
    local path, query = args[2], args[3]
    count = tonumber(args[4])
    at = thread_index * 37 % count
    wrk.headers["x-ms-version"] = "2021-12-02"
    for i = 0, count - 1 do
        requests[i] = wrk.format("GET", path .. i .. "?" .. query)
    end
end

function request()
    at = at + 1
    if at >= count then
        at = 0
    end
    return requests[at]
end
