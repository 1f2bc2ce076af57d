-- One chat completion, over and over; `-- true` streams it. `-- false 10`: each connection waits before its next request,
-- 10 ms in the mean, with an exponential distribution. The summary goes out as JSON, for bench/wrk.py.

function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer sk-bench"
  wrk.body = '{"model":"m","messages":[{"role":"user","content":"Write a function that adds two numbers."}],'
    .. '"max_tokens":100,"stream":' .. args[1] .. "}"
  local mean = tonumber(args[2] or "0")
  if mean > 0 then
    function delay() return math.floor(0.5 - mean * math.log(1 - math.random())) end
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nsummary {"requests":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"errors":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
