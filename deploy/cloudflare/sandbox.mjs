// A machine: Cloudflare's sandbox without a network, which starts once.
import { Sandbox as Vendors } from "@cloudflare/sandbox";

const BEGUN = "atoll:begun";

export class Sandbox extends Vendors {
  enableInternet = false;
  // The platform ends it even if our index were lost.
  sleepAfter = "30m";

  /** Start it. */
  async begin() {
    await this.startAndWaitForPorts();
  }

  /** Put off the platform's own end. */
  async stay() {
    this.renewActivityTimeout();
  }

  /** A call on a container that has ended would start an empty one in its place: it ends again. */
  async onStart() {
    await super.onStart();
    if (await this.ctx.storage.get(BEGUN)) await this.destroy();
    else await this.ctx.storage.put(BEGUN, true);
  }
}
