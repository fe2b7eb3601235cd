// The Worker's machines: one for an id, until its deadline, and for nobody without the key.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { bundled, runtime } from "./world.mjs";

const KEY = "canary-of-the-workers-key";
const running = new Set();
let begun = 0;
let refuses = "";
let worker;
let script;

async function service(request) {
  const [act, id] = new URL(request.url).pathname.split("/").slice(1);
  if (refuses === act) return new Response("refused by the platform", { status: 500 });
  if (act === "begin") {
    begun += 1;
    running.add(id);
  }
  if (act === "destroy") running.delete(id);
  if (act === "state") return new Response(running.has(id) ? "healthy" : "stopped");
  return new Response(act === "exec" ? JSON.stringify({ output: "", code: 0 }) : "");
}

before(async () => {
  script = await bundled();
  worker = runtime(script, KEY, service);
});
after(() => worker.dispose());
beforeEach(() => {
  refuses = "";
  begun = 0;
});

async function call(method, path, body, key = KEY) {
  const url = new URL(path, await worker.ready);
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  return [answer.status, await answer.text()];
}
const rent = (id, seconds = 60, tags = { atoll: "home" }) =>
  call("PUT", `/atoll/machines/${id}`, { tags, seconds });
const exec = (id) => call("POST", `/v1/sandbox/${id}/exec`, { argv: ["true"] });

test("an id gives one machine, also when asked at once", async () => {
  const answers = await Promise.all([rent("one"), rent("one"), rent("one")]);
  assert.deepEqual(answers.map(([status]) => status), [200, 200, 200]);
  assert.equal(begun, 1);
  assert.equal((await exec("one"))[0], 200);
});

test("a call on an unknown id rents nothing", async () => {
  assert.equal((await exec("unknown"))[0], 404);
  assert.equal((await call("POST", "/atoll/machines/unknown/renew", { seconds: 9 }))[0], 404);
  assert.equal(begun, 0);
});

test("a machine that ended by itself is gone, and no other takes its place", async () => {
  await rent("ended");
  running.clear();
  assert.equal((await exec("ended"))[0], 404);
  assert.equal(begun, 1);
});

test("a deadline ends a machine that nobody renews", async () => {
  await rent("short", 1);
  const until = Date.now() + 20_000;
  while (running.size && Date.now() < until) await call("GET", "/atoll/machines");
  assert.equal(running.size, 0);
  assert.equal((await exec("short"))[0], 404);
});

test("no deadline is further than 30 minutes ahead", async () => {
  const [, text] = await rent("long", 1e9);
  assert.ok(Date.parse(JSON.parse(text).ends_at) - Date.now() <= 1_800_000);
});

test("an end that the platform refuses is told, and the machine stays listed", async () => {
  await rent("stays");
  refuses = "destroy";
  assert.equal((await call("DELETE", "/atoll/machines/stays"))[0], 502);
  assert.match((await call("GET", "/atoll/machines"))[1], /"stays"/);
  refuses = "";
  assert.deepEqual(await call("DELETE", "/atoll/machines/stays"), [200, '{"ended":true}']);
  assert.deepEqual(await call("DELETE", "/atoll/machines/stays"), [200, '{"ended":false}']);
});

test("a start that fails leaves nothing", async () => {
  refuses = "begin";
  assert.equal((await rent("fails"))[0], 502);
  assert.doesNotMatch((await call("GET", "/atoll/machines"))[1], /"fails"/);
});

test("a list goes on page by page, with tags", async () => {
  const names = [..."abcdefghijklmnopqrstuvwxyz"].flatMap((a) => [..."abcdefghijklmnopqrstuvwx"].map((b) => `p${a}${b}`));
  for (let at = 0; at < names.length; at += 24) {
    const answers = await Promise.all(names.slice(at, at + 24).map((name) => rent(name, 1800)));
    for (const [status, text] of answers) assert.equal(status, 200, text);
  }
  const seen = [];
  for (let next = ""; next !== null; ) {
    const page = JSON.parse((await call("GET", `/atoll/machines?after=${next}`))[1]);
    seen.push(...page.machines);
    next = page.next;
  }
  const ours = seen.filter((one) => one.id.startsWith("p"));
  assert.equal(new Set(ours.map((one) => one.id)).size, names.length);
  assert.deepEqual(ours[0].tags, { atoll: "home" });
});

test("strangers and other routes of the bridge are refused", async () => {
  await rent("closed");
  assert.equal((await call("PUT", "/atoll/machines/other", { seconds: 5 }, "wrong"))[0], 401);
  for (const path of ["tunnel/80", "mount", "persist"]) {
    assert.equal((await call("POST", `/v1/sandbox/closed/${path}`, {}))[0], 404, path);
  }
  assert.equal((await call("POST", "/v1/pool/prime"))[0], 404);
  for (const body of [null, [], { seconds: -1 }, { seconds: 5, tags: { a: 1 } }, { seconds: 1.5 }, { seconds: 5, template: "Machines" }, { seconds: 5, template: "SandboxNone" }]) {
    assert.equal((await call("PUT", "/atoll/machines/bad", body))[0], 400);
  }
});

test("without a key it serves nobody", async () => {
  const open = runtime(script, "", service);
  const answer = await fetch(new URL("/atoll/machines", await open.ready));
  assert.equal(answer.status, 503);
  await open.dispose();
});
