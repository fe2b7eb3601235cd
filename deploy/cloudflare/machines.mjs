// Machines that are rented: one container for each id, until its deadline and never again after.
//
// It answers what the bridge asks of its pool. A container is written down before it starts, so
// that one whose start was cut off is ended like any other.
import { DurableObject } from "cloudflare:workers";

export const Gone = "no such machine";
const MAX_SECONDS = 1800;
const PAGE = 500;
const RETRY_MS = 30_000;
const ENTRY = "machine:";
export const USUAL = "Sandbox";

const shown = (id, entry) => ({ id, tags: entry.tags, ends_at: new Date(entry.ends).toISOString() });

export class Machines extends DurableObject {
  /** The bridge's settings of its pool; there are none here. */
  async configure() {}

  /** The container of a machine that runs. Never starts one. */
  async getContainer(id) {
    const entry = await this.entry(id);
    if (!entry || entry.ends <= this.now()) throw new Error(Gone);
    if (await this.runs(entry)) return entry.container;
    await this.ctx.storage.delete(ENTRY + id);
    throw new Error(Gone);
  }

  async lookupContainer(id) {
    return (await this.entry(id))?.container ?? null;
  }

  /** The bridge forgets a container even when its end failed; here `end` decides. */
  async reportStopped() {}

  /** The class of a machine's container; the usual one for a machine that is not there. */
  async template(id) {
    return (await this.entry(id))?.template ?? USUAL;
  }

  /** Rent a machine; the same id gives the same one. One at a time for an id. */
  async rent(id, { tags, seconds, template = USUAL }) {
    return await this.alone(id, async () => {
      const known = await this.entry(id);
      if (known && known.ends > this.now() && (await this.runs(known))) return shown(id, known);
      if (known) await this.removed(id, known);
      const entry = { container: crypto.randomUUID(), template, tags, ends: this.until(seconds) };
      await this.ctx.storage.put(ENTRY + id, entry);
      await this.wake(entry.ends);
      try {
        await this.stub(entry).begin();
      } catch (error) {
        await this.removed(id, entry);
        throw error;
      }
      return shown(id, entry);
    });
  }

  async renew(id, seconds) {
    return await this.alone(id, async () => {
      const entry = await this.entry(id);
      if (!entry || entry.ends <= this.now() || !(await this.runs(entry))) return null;
      entry.ends = this.until(seconds);
      await this.ctx.storage.put(ENTRY + id, entry);
      await this.wake(entry.ends);
      await this.stub(entry).stay();
      return shown(id, entry);
    });
  }

  /** End a machine; whether it was there. Throws, and keeps it, when its end failed. */
  async end(id) {
    return await this.alone(id, async () => {
      const entry = await this.entry(id);
      if (!entry) return false;
      await this.removed(id, entry);
      return true;
    });
  }

  /** A page of machines after an id, and where the next one begins. */
  async list(after) {
    const begin = after ? { startAfter: ENTRY + after } : {};
    const page = await this.ctx.storage.list({ prefix: ENTRY, limit: PAGE, ...begin });
    const found = [...page].map(([key, entry]) => shown(key.slice(ENTRY.length), entry));
    return { machines: found, next: found.length === PAGE ? found.at(-1).id : null };
  }

  /** End what is past its deadline. What cannot be ended is tried again. */
  async alarm() {
    let next = Infinity;
    for (const [key, entry] of await this.ctx.storage.list({ prefix: ENTRY })) {
      const id = key.slice(ENTRY.length);
      if (entry.ends > this.now()) {
        next = Math.min(next, entry.ends);
        continue;
      }
      try {
        await this.alone(id, async () => {
          const now = await this.entry(id);
          if (now && now.ends <= this.now()) await this.removed(id, now);
        });
      } catch (error) {
        console.error({ message: "a machine did not end", id, error: String(error) });
        next = Math.min(next, this.now() + RETRY_MS);
      }
    }
    if (next < Infinity) await this.wake(next);
  }

  now() {
    return Date.now();
  }

  until(seconds) {
    return this.now() + Math.min(seconds, MAX_SECONDS) * 1000;
  }

  async wake(at) {
    const set = await this.ctx.storage.getAlarm();
    if (set === null || at < set) await this.ctx.storage.setAlarm(at);
  }

  async entry(id) {
    return await this.ctx.storage.get(ENTRY + id);
  }

  stub(entry) {
    return this.env[entry.template].getByName(entry.container);
  }

  async runs(entry) {
    const { status } = await this.stub(entry).getState();
    return status === "running" || status === "healthy";
  }

  async removed(id, entry) {
    await this.stub(entry).destroy();
    await this.ctx.storage.delete(ENTRY + id);
  }

  /** Run acts on one id one after another. */
  async alone(id, act) {
    this.turns ??= new Map();
    const before = this.turns.get(id) ?? Promise.resolve();
    const mine = before.then(act, act);
    const settled = mine.catch(() => {});
    this.turns.set(id, settled);
    try {
      return await mine;
    } finally {
      if (this.turns.get(id) === settled) this.turns.delete(id);
    }
  }
}
