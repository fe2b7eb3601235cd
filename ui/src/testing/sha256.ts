/** SHA-256 over a stream (FIPS 180-4); the browser's own digest cannot run along. */

const K = new Uint32Array(64);
const START = new Uint32Array(8);

(function constants(): void {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n += 1) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  const fraction = (value: number): number => (value - Math.floor(value)) * 2 ** 32;
  primes.forEach((prime, i) => {
    K[i] = fraction(Math.cbrt(prime));
    if (i < 8) START[i] = fraction(Math.sqrt(prime));
  });
})();

export class Sha256 {
  #state = START.slice();
  readonly #block = new Uint8Array(64);
  readonly #words = new Uint32Array(64);
  #length = 0;

  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const used = this.#length % 64;
      const piece = bytes.subarray(at, at + 64 - used);
      this.#block.set(piece, used);
      this.#length += piece.length;
      at += piece.length;
      if (this.#length % 64 === 0) this.#compress();
    }
  }

  /** Hex of everything so far; more may follow. */
  digest(): string {
    const end = new Sha256();
    end.#state = this.#state.slice();
    end.#block.set(this.#block);
    end.#length = this.#length;
    const pad = new Uint8Array(((119 - (this.#length % 64)) % 64) + 9);
    pad[0] = 0x80;
    const view = new DataView(pad.buffer);
    view.setUint32(pad.length - 8, Math.floor((this.#length * 8) / 2 ** 32));
    view.setUint32(pad.length - 4, (this.#length * 8) % 2 ** 32);
    end.update(pad);
    return [...end.#state].map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  #compress(): void {
    const w = this.#words;
    const view = new DataView(this.#block.buffer);
    for (let i = 0; i < 16; i += 1) w[i] = view.getUint32(i * 4);
    for (let i = 16; i < 64; i += 1) {
      const a = w[i - 15] as number;
      const b = w[i - 2] as number;
      const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      w[i] = (w[i - 16] as number) + s0 + (w[i - 7] as number) + s1;
    }
    let [a, b, c, d, e, f, g, h] = this.#state as unknown as Eight;
    for (let i = 0; i < 64; i += 1) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (K[i] as number) + (w[i] as number)) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => {
      this.#state[i] = (this.#state[i] as number) + value;
    });
  }
}

type Eight = [number, number, number, number, number, number, number, number];

function turn(value: number, by: number): number {
  return (value >>> by) | (value << (32 - by));
}
