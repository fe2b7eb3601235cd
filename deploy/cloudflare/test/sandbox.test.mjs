import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

test("a container that has ended is not started again by a call", async () => {
  const bundled = await build({
    entryPoints: [here("../sandbox.mjs")], bundle: true, format: "esm", write: false,
    alias: { "@cloudflare/sandbox": here("vendors.mjs") },
  });
  const url = `data:text/javascript,${encodeURIComponent(bundled.outputFiles[0].text)}`;
  const { Sandbox } = await import(url);
  const machine = new Sandbox();
  assert.equal(machine.enableInternet, false);
  await assert.rejects(machine.startAndWaitForPorts());
  await machine.begin();
  await machine.startAndWaitForPorts();
  machine.ctx.container.running = false;
  await assert.rejects(machine.startAndWaitForPorts(), /no such machine/);
  assert.equal(machine.started, 2);
});
