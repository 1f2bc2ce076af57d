import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";

const url = process.env.SPILLWAY_URL;
const model = process.env.SPILLWAY_MODEL;
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: process.env.SPILLWAY_KEY, maxRetries: 0, timeout: 60_000 });
const say = (content) => [{ role: "user", content }];
const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];

async function text(stream) {
  let all = "";
  for await (const chunk of stream) all += chunk.choices[0]?.delta.content ?? "";
  return all;
}

async function idle() {
  const deadline = Date.now() + 5000;
  for (;;) {
    const { models } = await (await fetch(`${url}/status`)).json();
    const counts = models.flatMap(({ pools }) => Object.values(pools).map(({ inflight }) => inflight));
    if (counts.every((count) => count === 0)) return;
    assert.ok(Date.now() < deadline, `still in flight: ${counts}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("chat", async () => {
  const { data, response } = await client.chat.completions
    .create({ model, messages: say("Say hello."), max_tokens: 8 })
    .withResponse();
  assert.ok(data.choices[0].message.content);
  assert.ok(data.usage.total_tokens > 0);
  assert.equal(response.headers.get("x-spillway-pool"), "speculative");
  assert.equal(data._request_id, response.headers.get("x-request-id"));
});

test("streamed chat", async () => {
  const body = { model, messages: say("Say hello."), max_tokens: 16, temperature: 0 };
  const whole = await client.chat.completions.create(body);
  const stream = await client.chat.completions.create({ ...body, stream: true });
  assert.equal(await text(stream), whole.choices[0].message.content);
});

test("usage comes only when asked for", async () => {
  const body = { model, messages: say("Say hello."), max_tokens: 4, stream: true };
  for (const asked of [false, true]) {
    const options = asked ? { stream_options: { include_usage: true } } : {};
    const chunks = [];
    for await (const chunk of await client.chat.completions.create({ ...body, ...options })) chunks.push(chunk);
    assert.equal(chunks.some(({ usage }) => usage), asked);
    assert.equal(chunks.at(-1).choices.length, asked ? 0 : 1);
  }
});

test("n and logprobs", async () => {
  const reply = await client.chat.completions.create({
    model, messages: say("Say hello."), max_tokens: 4, n: 2, logprobs: true, top_logprobs: 2,
  });
  assert.equal(reply.choices.length, 2);
  for (const { logprobs } of reply.choices) assert.equal(logprobs.content[0].top_logprobs.length, 2);
});

test("completions", async () => {
  const body = { model, prompt: "Once upon", max_tokens: 6 };
  assert.ok((await client.completions.create(body)).choices[0].text);
  let all = "";
  for await (const chunk of await client.completions.create({ ...body, stream: true })) all += chunk.choices[0].text;
  assert.ok(all);
});

test("responses", async () => {
  const body = { model, input: "Say hello.", max_output_tokens: 8 };
  assert.ok((await client.responses.create(body)).output_text);
  const kinds = [];
  for await (const event of await client.responses.create({ ...body, stream: true })) kinds.push(event.type);
  assert.deepEqual([kinds[0], kinds.at(-1)], ["response.created", "response.completed"]);
});

test("tools", async () => {
  const body = { model: "fake", messages: say("call a tool"), tools };
  const reply = await client.chat.completions.create(body);
  assert.deepEqual(JSON.parse(reply.choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
  const final = await client.chat.completions.stream(body).finalChatCompletion();
  assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
});

test("comments and mixed line ends do no harm", async () => {
  const stream = await client.chat.completions.create({ model: "fake", messages: say("with pings"), stream: true });
  assert.equal(await text(stream), "ab");
});

test("embeddings", async () => {
  const reply = await client.embeddings.create({ model: "fake", input: ["a", "b"], encoding_format: "float" });
  assert.deepEqual(reply.data.map(({ embedding }) => embedding), [[0.5, 0], [0.5, 1]]);
  await assert.rejects(client.embeddings.create({ model, input: "a" }), { status: 501 });
});

test("models", async () => {
  const names = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert.deepEqual(names.sort(), ["fake", model].sort());
  assert.equal((await client.models.retrieve("fake")).id, "fake");
  await assert.rejects(client.models.retrieve("nope"), OpenAI.NotFoundError);
});

for (const stream of [false, true]) {
  test(`errors are the right class, stream: ${stream}`, async () => {
    const cases = [
      ["bad request", OpenAI.BadRequestError],
      ["too many", OpenAI.RateLimitError],
      ["crash", OpenAI.InternalServerError],
      ["break before", OpenAI.InternalServerError],
    ];
    for (const [prompt, kind] of cases) {
      await assert.rejects(client.chat.completions.create({ model: "fake", messages: say(prompt), stream }), (error) => {
        assert.ok(error instanceof kind, `${prompt}: ${error}`);
        assert.ok(error.requestID);
        return true;
      });
    }
  });
}

test("the gateway's own errors are the right class", async () => {
  const messages = say("hi");
  await assert.rejects(client.chat.completions.create({ model: "nope", messages }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    return true;
  });
  await assert.rejects(client.chat.completions.create({ model: 5, messages }), OpenAI.BadRequestError);
  const stranger = client.withOptions({ apiKey: "sk-wrong" });
  await assert.rejects(stranger.chat.completions.create({ model: "fake", messages }), OpenAI.AuthenticationError);
  await assert.rejects(
    client.chat.completions.create({ model: "fake", messages: say("x".repeat(2_000_000)) }),
    { status: 413 },
  );
});

test("a broken stream raises after what came", async () => {
  const stream = await client.chat.completions.create({ model: "fake", messages: say("break"), stream: true });
  let all = "";
  await assert.rejects(async () => {
    for await (const chunk of stream) all += chunk.choices[0]?.delta.content ?? "";
  }, OpenAI.APIError);
  assert.equal(all, "hello");
});

for (const stream of [false, true]) {
  test(`aborting before the first token, stream: ${stream}`, async () => {
    const abort = new AbortController();
    const asking = client.chat.completions.create(
      { model: "fake", messages: say("hang"), stream }, { signal: abort.signal },
    );
    setTimeout(() => abort.abort(), 300);
    await assert.rejects(asking, OpenAI.APIUserAbortError);
    await idle();
  });
}

test("aborting after the first token", async () => {
  const stream = await client.chat.completions.create({ model: "fake", messages: say("go on"), stream: true });
  for await (const _ of stream) break;
  await idle();
});
