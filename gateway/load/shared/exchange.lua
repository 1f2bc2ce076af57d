-- What the gateways of one model tell each other: each has a field, and reads those of the others that are news to it.
--
-- KEYS  1 a hash, gateway -> Redis time (ms) of the writing, a space, and the text
-- ARGV  1 gateway   2 its text; empty: as it was   3 ms after which a text is dropped that nobody wrote anew
--       4... of the others, what is known already: gateway, time of the writing
--
-- Returns {whether the caller's text is here (0 or 1), {the other gateways with a text}, {gateway, time of the writing, its
-- age in ms, text, ...} of what is news}.
local KEY, ME, TEXT, KEEP = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local call = redis.call

local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if TEXT ~= '' then
  call('HSET', KEY, ME, string.format('%.0f', now) .. ' ' .. TEXT)
end
local known = {}
for at = 4, #ARGV, 2 do known[ARGV[at]] = ARGV[at + 1] end
local here, others, news = 0, {}, {}
local all = call('HGETALL', KEY)
for at = 1, #all, 2 do
  local written, text = string.match(all[at + 1], '^(%d+) (.*)$')
  local age = written and now - tonumber(written) or KEEP + 1
  if age > KEEP then
    call('HDEL', KEY, all[at])
  elseif all[at] == ME then
    here = 1
  else
    others[#others + 1] = all[at]
    if known[all[at]] ~= written then
      for _, item in ipairs({all[at], written, string.format('%.0f', age), text}) do news[#news + 1] = item end
    end
  end
end
if TEXT ~= '' then call('PEXPIRE', KEY, KEEP) end
return {here, others, news}
