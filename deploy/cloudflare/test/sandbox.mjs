// A Sandbox for tests: what the bridge asks of Cloudflare's, over a service of the test.
import { DurableObject } from "cloudflare:workers";

export class Sandbox extends DurableObject {
  async configure() {}
  async getState() {
    return { status: await this.ask("state") };
  }
  async begin() {
    await this.ask("begin");
  }
  async stay() {}
  async destroy() {
    await this.ask("destroy");
  }
  async execWithSessionToken(command, _token, options) {
    await options.onOutput("stdout", await this.ask("exec", command));
    await options.onComplete({ exitCode: 0 });
    return { exitCode: 0 };
  }
  async ask(act, body = "") {
    const url = `http://test/${act}/${this.ctx.id}`;
    const answer = await this.env.TEST.fetch(url, { method: "POST", body });
    if (!answer.ok) throw new Error(await answer.text());
    return await answer.text();
  }
}
