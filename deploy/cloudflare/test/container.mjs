// What Cloudflare's Sandbox is to the bridge and to our class, over a service of the test: a
// container that is started, ended, and called.
import { DurableObject } from "cloudflare:workers";

export class Sandbox extends DurableObject {
  async configure() {}
  renewActivityTimeout() {}
  async getState() {
    return { status: await this.ask("state") };
  }
  async startAndWaitForPorts() {
    await this.ask("begin", JSON.stringify({ internet: this.enableInternet }));
  }
  async destroy() {
    await this.ask("destroy");
  }
  async execWithSessionToken(command, _token, options) {
    const { output, code } = JSON.parse(await this.ask("exec", command));
    await options.onOutput("stdout", output);
    await options.onComplete({ exitCode: code });
    return { exitCode: code };
  }
  async writeFile(path, content, { encoding }) {
    await this.ask("write", JSON.stringify({ path, content, encoding }));
    return { success: true };
  }
  async getSession(id) {
    return { id };
  }
  async deleteSession(id) {
    await this.ask("session", id);
    return { success: true, sessionId: id };
  }
  async fetch(request) {
    const { search } = new URL(request.url);
    return await this.env.TEST.fetch(new Request(`http://test/pty/${this.ctx.id}${search}`, request));
  }
  async ask(act, body = "") {
    const url = `http://test/${act}/${this.ctx.id}`;
    const answer = await this.env.TEST.fetch(url, { method: "POST", body });
    if (!answer.ok) throw new Error(await answer.text());
    return await answer.text();
  }
}
