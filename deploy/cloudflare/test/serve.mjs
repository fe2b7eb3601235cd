// Serves the Worker for tests of other programs: `serve.mjs KEY ADDRESS`, the address of containers.
// It prints its own address, and ends with its input.
import { bundled, runtime } from "./world.mjs";

const [key, address] = process.argv.slice(2);
const objects = { SandboxOther: { className: "SandboxOther", useSQLite: true } };
const containers = { external: { address, http: {} } };
const worker = runtime(await bundled("entry.mjs"), key, containers, { objects });
console.log(String(await worker.ready));
process.stdin.resume();
process.stdin.on("end", async () => {
  await worker.dispose();
  process.exit(0);
});
