// A machine: Cloudflare's sandbox without a network, which only `begin` starts.
import { Sandbox as Vendors } from "@cloudflare/sandbox";

export class Sandbox extends Vendors {
  enableInternet = false;
  // The platform ends it even if our index were lost.
  sleepAfter = "30m";
  begins = false;

  /** Start it. */
  async begin() {
    this.begins = true;
    try {
      await this.startAndWaitForPorts();
    } finally {
      this.begins = false;
    }
  }

  /** Put off the platform's own end. */
  async stay() {
    this.renewActivityTimeout();
  }

  /** Any call on a container that has ended would start an empty one in its place. */
  async startAndWaitForPorts(...given) {
    if (!this.begins && !this.ctx.container?.running) throw new Error("no such machine");
    return await super.startAndWaitForPorts(...given);
  }
}
