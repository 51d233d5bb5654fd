// Asks assay serve, whose address is in a file, by OpenAI's own client: node openai_client.mjs FILE.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const baseURL = readFileSync(process.argv[2], "utf8").trim();
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const [judge, embedder] = (await client.models.list()).data.map((m) => m.id);

const ask = { model: judge, messages: [{ role: "user", content: "Name a colour." }], max_tokens: 8, temperature: 0 };
const chat = await client.chat.completions.create(ask);
assert.ok(chat.choices[0].message.content && chat.usage.completion_tokens > 0);
let streamed = "";
for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}
assert.equal(streamed, chat.choices[0].message.content);
const schema = { type: "object", properties: { colour: { enum: ["red", "blue"] } }, required: ["colour"] };
const held = await client.chat.completions.create({
  ...ask, max_tokens: 40, response_format: { type: "json_schema", json_schema: { name: "colour", schema } },
});
assert.ok(["red", "blue"].includes(JSON.parse(held.choices[0].message.content).colour));

const told = await client.completions.create({
  model: judge, prompt: ["The sky is blue", "So"], max_tokens: 1, echo: true, logprobs: 1, temperature: 0,
});
for (const { text, logprobs } of told.choices) {
  const n = logprobs.tokens.length;
  assert.ok(logprobs.token_logprobs.length === n && logprobs.top_logprobs.length === n && logprobs.text_offset.length === n);
  assert.equal(logprobs.token_logprobs[0], null);
  assert.ok(logprobs.token_logprobs.slice(1).every((v) => v <= 0));
  assert.equal(logprobs.tokens.slice(1).join(""), text);
}

const packed = await client.embeddings.create({ model: embedder, input: ["a cat", "a dog"] }); // base64, unasked
const plain = await client.embeddings.create({ model: embedder, input: ["a cat", "a dog"], encoding_format: "float" });
assert.ok(plain.data[1].embedding.every((x, i) => Math.abs(x - packed.data[1].embedding[i]) < 1e-6));

await assert.rejects(client.chat.completions.create({ ...ask, model: "another" }), { status: 404, code: "model_not_found" });
await assert.rejects(client.chat.completions.create({ ...ask, logit_bias: { 5: 1 } }), { status: 400, param: "logit_bias" });
await assert.rejects(new OpenAI({ baseURL: baseURL.replace(/[^/]+\/v1$/, "v1"), apiKey: "none" }).models.list(), { status: 401 });
console.log("all is well");
