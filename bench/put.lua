-- Put Blob of a new name each time.  The payloads are taken in turn from a file of random bytes,
-- so that no compression along the way makes the work smaller than it is.
--
--   wrk -s put.lua URL -- STATUS PATH QUERY FILE SIZE    names are PATH .. thread .. "-" .. number

dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "summary.lua")

local head
local tails = {}
local number = 0

function init(args)
    expect_status(args[1])
    local path, query, size = args[2], args[3], tonumber(args[5])
    local file = assert(io.open(args[4], "rb"))
    local headers = {
        ["x-ms-version"] = "2021-12-02",
        ["x-ms-blob-type"] = "BlockBlob",
        ["Content-Type"] = "application/octet-stream",
        ["Host"] = wrk.headers["Host"],
    }
    local body = file:read(size)
    while body and #body == size do
        local whole = wrk.format("PUT", "@" .. "?" .. query, headers, body)
        local cut = whole:find("@", 1, true)
        head = whole:sub(1, cut - 1) .. path .. thread_index .. "-"
        tails[#tails + 1] = whole:sub(cut + 1)
        body = file:read(size)
    end
    file:close()
end

function request()
    local tail = tails[number % #tails + 1]
    local whole = head .. number .. tail
    number = number + 1
    return whole
end
