// The Worker, with a clock that a test moves and machines that nobody knows of.
import worker, { Machines as Index, Sandbox } from "../worker.mjs";

export { Sandbox };
export class SandboxOther extends Sandbox {}

export class Machines extends Index {
  constructor(context, env) {
    super(context, env);
    this.ctx.blockConcurrencyWhile(async () => {
      this.ahead = (await this.ctx.storage.get("ahead")) ?? 0;
    });
  }
  now() {
    return super.now() + this.ahead;
  }
  async advance(seconds) {
    this.ahead += seconds * 1000;
    await this.ctx.storage.put("ahead", this.ahead);
    await this.alarm();
  }
  async stray(count, tags) {
    for (let done = 0; done < count; done += 100) {
      const some = {};
      for (let i = done; i < Math.min(done + 100, count); i++) {
        const id = `x${crypto.randomUUID()}`.replace(/[^a-z2-7]/g, "z");
        const container = crypto.randomUUID();
        some[`machine:${id}`] = { container, template: "Sandbox", tags, ends: this.until(1800) };
      }
      await this.ctx.storage.put(some);
    }
  }
  async forget(id) {
    await this.ctx.storage.delete(`machine:${id}`);
  }
  async all() {
    return [...(await this.ctx.storage.list({ prefix: "machine:" }))].map(([key, entry]) => ({
      id: key.slice(8), tags: entry.tags, left: (entry.ends - this.now()) / 1000,
      container: String(this.env[entry.template].idFromName(entry.container)),
    }));
  }
}

export default {
  async fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/test/")) return await worker.fetch(request, env, context);
    const index = env.Machines.getByName("global-pool");
    const body = request.method === "POST" ? await request.json() : {};
    if (pathname === "/test/advance") await index.advance(body.seconds);
    if (pathname === "/test/stray") await index.stray(body.count, body.tags);
    if (pathname === "/test/forget") await index.forget(body.id);
    return Response.json(await index.all());
  },
};
