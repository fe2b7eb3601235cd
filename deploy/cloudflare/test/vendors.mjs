// What Cloudflare's class does at a start, for a test of ours over it.
export class Sandbox {
  started = 0;
  ctx = { container: { running: false } };
  async startAndWaitForPorts() {
    this.started += 1;
    this.ctx.container.running = true;
  }
}
