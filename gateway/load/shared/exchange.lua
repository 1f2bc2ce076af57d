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
-- Of so many others, those who wrote last, and texts of up to so many bytes: what is more, no gateways have written. It is
-- dropped, or every exchange would hold Redis up; of a longer text an empty one is handed out, once.
local MOST, LONG = 1000, 65536

-- What someone else has put in the key's place would fail every exchange.
local kind = call('TYPE', KEY).ok
if kind ~= 'hash' and kind ~= 'none' then call('DEL', KEY) end

local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if TEXT ~= '' then
  call('HSET', KEY, ME, string.format('%.0f', now) .. ' ' .. TEXT)
end
local known = {}
for at = 4, #ARGV, 2 do known[ARGV[at]] = ARGV[at + 1] end
local here, left = 0, {}
local all = call('HGETALL', KEY)
for at = 1, #all, 2 do
  local gateway, written, text = all[at], string.match(all[at + 1], '^(%d+) (.*)$')
  local age = written and now - tonumber(written) or KEEP + 1
  -- A time that far ahead is none that this clock gave.
  if age > KEEP or age < -KEEP then
    call('HDEL', KEY, gateway)
  elseif gateway == ME then
    here = 1
  else
    left[#left + 1] = {gateway, written, age, text}
    if #text > LONG then
      left[#left][4] = ''
      call('HDEL', KEY, gateway)
    end
  end
end
if #left > MOST then
  table.sort(left, function(one, other) return one[3] < other[3] end)
  for at = MOST + 1, #left do
    call('HDEL', KEY, left[at][1])
    left[at] = nil
  end
end
local others, news = {}, {}
for at, each in ipairs(left) do
  local gateway, written, age, text = each[1], each[2], each[3], each[4]
  others[at] = gateway
  if known[gateway] ~= written then
    for _, item in ipairs({gateway, written, string.format('%.0f', age), text}) do
      news[#news + 1] = item
    end
  end
end
if TEXT ~= '' then call('PEXPIRE', KEY, KEEP) end
return {here, others, news}
