// The Worker in Cloudflare's own runtime, with the bridge's own code; only containers are ours.
import http from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

// Miniflare reaches what is ours by connections that its own server ends after five quiet seconds,
// also where a request is just on its way: the Worker then says that the platform was lost.
const { createServer } = http;
http.createServer = (...words) => Object.assign(createServer(...words), { keepAliveTimeout: 0 });

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The Worker as one script. */
export async function bundled(entry = "../worker.mjs") {
  const made = await build({
    entryPoints: [here(entry)], bundle: true, format: "esm", write: false,
    external: ["cloudflare:*", "node:*"], platform: "neutral", mainFields: ["module", "main"],
    conditions: ["workerd", "import"],
    plugins: [{
      name: "containers",
      setup: (at) =>
        at.onResolve({ filter: /^@cloudflare\/sandbox$/ }, () => ({ path: here("container.mjs") })),
    }],
  });
  return made.outputFiles[0].text;
}

/** A runtime of the Worker, whose containers are the service `containers`. */
export function runtime(script, key, containers, more = {}) {
  const object = (className) => ({ className, useSQLite: true });
  return new Miniflare({
    modules: true, script, compatibilityDate: "2026-04-01", compatibilityFlags: ["nodejs_compat"],
    durableObjects: { Sandbox: object("Sandbox"), Machines: object("Machines"), ...more.objects },
    bindings: key ? { SANDBOX_API_KEY: key } : {},
    serviceBindings: { TEST: containers },
  });
}
