// Atoll's Worker: Cloudflare's bridge, over machines that Atoll knows, closes and ends.
//
// The bridge's own pool gives a container to any id that is named, and starts another when one has
// ended. Something rented would outlive its deadline, so `Machines` stands in the pool's place.
import { bridge } from "@cloudflare/sandbox/bridge";
import { Gone, Machines, USUAL } from "./machines.mjs";
import { Sandbox } from "./sandbox.mjs";

export { Machines, Sandbox };

const ID = /^[a-z2-7]{1,128}$/;
// What is not named here stays closed: a tunnel would open a machine's port to everybody.
const ALLOWED = /^\/v1\/sandbox\/[a-z2-7]{1,128}\/(exec|pty|running|session(\/[\w.-]+)?|file\/.+)$/;
// Other images are classes of their own: a binding named `Sandbox…` in wrangler.jsonc.
const TEMPLATE = /^Sandbox\w{0,56}$/;
const MAX_BODY = 16_384;

const problem = (status, code) => Response.json({ error: code, code }, { status });

/** Whether the request bears the key. Compares digests, so that time says nothing. */
async function mayEnter(request, key) {
  const given = /^bearer (.*)$/i.exec(request.headers.get("Authorization") ?? "")?.[1] ?? "";
  const digest = (text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [one, other] = await Promise.all([digest(given), digest(key)]);
  const [left, right] = [new Uint8Array(one), new Uint8Array(other)];
  return left.reduce((all, byte, at) => all | (byte ^ right[at]), 0) === 0;
}

/** `tags`, `seconds` and `template` of a body; null for one that is not understood. */
async function orderOf(request) {
  const text = await request.text();
  if (text.length > MAX_BODY) return null;
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  const { tags = {}, seconds, template = USUAL } = body ?? {};
  const areTags =
    tags !== null && typeof tags === "object" && Object.values(tags).every((v) => typeof v === "string");
  const isTemplate = typeof template === "string" && TEMPLATE.test(template);
  const isOrder = areTags && isTemplate && Number.isInteger(seconds) && seconds > 0;
  return isOrder ? { tags, seconds, template } : null;
}

/** Machines: `PUT|GET|DELETE /atoll/machines/ID`, `POST …/ID/renew`, `GET /atoll/machines`. */
async function machines(request, index, env, url) {
  const [id, act, ...more] = url.pathname.split("/").slice(3);
  if (!id && request.method === "GET") {
    return Response.json(await index.list(url.searchParams.get("after") ?? ""));
  }
  if (!ID.test(id ?? "") || more.length) return problem(404, "not_found");
  switch (`${request.method} ${act ?? ""}`) {
    case "PUT ": {
      const order = await orderOf(request);
      if (!order) return problem(400, "invalid_request");
      if (!env[order.template]) return problem(400, "no_such_template");
      return Response.json(await index.rent(id, order));
    }
    case "POST renew": {
      const order = await orderOf(request);
      if (!order) return problem(400, "invalid_request");
      const renewed = await index.renew(id, order.seconds);
      return renewed ? Response.json(renewed) : problem(404, "gone");
    }
    case "DELETE ":
      return Response.json({ ended: await index.end(id) });
    default:
      return problem(404, "not_found");
  }
}

const bridges = new Map();

/** The bridge to machines of a class. */
function bridgeOf(sandbox) {
  if (!bridges.has(sandbox)) {
    bridges.set(sandbox, bridge({}, { bindings: { sandbox, warmPool: "Machines" } }));
  }
  return bridges.get(sandbox);
}

export default {
  async fetch(request, env, context) {
    // Without a key the bridge would let everybody in.
    if (!env.SANDBOX_API_KEY) return problem(503, "no_key_set");
    const url = new URL(request.url);
    if (url.pathname === "/health") return bridgeOf(USUAL).fetch(request, env, context);
    if (!(await mayEnter(request, env.SANDBOX_API_KEY))) return problem(401, "unauthorized");
    const index = env.Machines.getByName("global-pool");
    try {
      if (/^\/atoll\/machines(\/|$)/.test(url.pathname)) {
        return await machines(request, index, env, url);
      }
    } catch (error) {
      return problem(/Maximum number of running/.test(String(error)) ? 429 : 502, String(error));
    }
    if (!ALLOWED.test(url.pathname)) return problem(404, "not_found");
    const template = await index.template(url.pathname.split("/")[3]);
    const answer = await bridgeOf(template).fetch(request, env, context);
    if (answer.status !== 502) return answer;
    const text = await answer.text();
    return text.includes(Gone) ? problem(404, "gone") : new Response(text, answer);
  },
};
