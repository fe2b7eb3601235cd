"""opencode: no update, no sharing, models and plugins as they are, edits allowed.

Its own model service is off, and so are providers that it would call without the broker: it would
choose one of them as its model.
"""

import json

from atoll.domain.agents.agent import (
    TOOLS_PROGRAM,
    Agent,
    AgentTools,
    Machine,
    Package,
    Seed,
    WatchFile,
)
from atoll.domain.agents.held_hooks import HOLD_COMMAND
from atoll.domain.broker.control_plane import TOOLS_URL

_CONFIG = (
    '{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled",'
    '"disabled_providers":["opencode","google","google-vertex","groq","togetherai",'
    '"fireworks-ai"],'
    '"permission":{"edit":"allow","bash":"allow"},"provider":{'
    '"openai":{"options":{"baseURL":"http://127.0.0.1:8082/broker/openai/v1"}},'
    '"anthropic":{"options":{"baseURL":"http://127.0.0.1:8082/broker/anthropic/v1"}}}}\n'
)

# It installs the types of plugins at its start, unless it finds them installed.
_LOCK = '{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}\n'
_MODULES = "Empty: opencode would install the types of plugins here at its start.\n"

# The plugin reports by its pipe what other agents' hooks report, and writes down the events that
# cards are made of. What asks the person waits in a hook: the reply goes to opencode's own server,
# in its own process, so that no port is open. A child session is a sub-agent's: its turns are not
# the person's.
_PLUGIN = """\
import { spawn } from "node:child_process";
import { appendFileSync, closeSync, constants, openSync, writeSync } from "node:fs";
const path = "{report_pipe}", list = path + ".jsonl", children = new Set(), held = new Map();
const words = { "permission.replied": "PostToolUse", "question.replied": "PostToolUse",
  "question.rejected": "PostToolUse", "session.idle": "Stop" };
function hold(client, place, session, heard) {
  const env = { ...process.env, ATOLL_EAR: path };
  const hook = spawn("sh", ["-c", {hold}], { env, stdio: ["pipe", "pipe", "ignore"] });
  let reply = "";
  held.set(heard.id, hook);
  hook.on("error", () => held.delete(heard.id));
  hook.stdin.on("error", () => {});
  hook.stdout.on("data", (data) => { reply += data; });
  hook.on("close", () => {
    held.delete(heard.id);
    try {
      const body = JSON.parse(reply), headers = { "Content-Type": "application/json" };
      client._client.post({ url: `/${place}/${heard.id}/reply`, body, headers });
    } catch {}
  });
  hook.stdin.end(JSON.stringify({ session_id: session, transcript_path: list,
    hook_event_name: "PermissionRequest", tool_name: String(heard.permission ?? "a tool"),
    request: heard }));
}
function told(name, session, tool) {
  const line = JSON.stringify({ session_id: session, transcript_path: list,
    hook_event_name: name, tool_name: tool });
  const pipe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try { writeSync(pipe, line.slice(0, 3000) + "\\n"); } finally { closeSync(pipe); }
}
function kept(type, part) {
  if (["message.updated", "session.idle", "session.error"].includes(type)) return true;
  if (type !== "message.part.updated") return false;
  if (part.type === "tool") return part.state.status !== "pending";
  return part.text && (part.time === undefined || part.time.end !== undefined);
}
export const Atoll = async ({ client }) => ({
  event: async ({ event: { type, properties: heard } }) => {
    try {
      const session = heard.sessionID ?? heard.info?.sessionID ?? heard.part?.sessionID;
      if (type === "session.created" && heard.info.parentID) children.add(heard.info.id);
      if (!session || children.has(session)) return;
      if (kept(type, heard.part))
        appendFileSync(list, JSON.stringify({ type, properties: heard }) + "\\n", { mode: 0o600 });
      if (type === "session.status" && heard.status.type !== "idle")
        told("UserPromptSubmit", session);
      const [place, act] = type.split(".");
      if (act === "asked") hold(client, place, session, heard);
      if (act === "replied" || act === "rejected") held.get(heard.requestID ?? heard.id)?.kill();
      if (words[type]) told(words[type], session, "a tool");
    } catch {}
  },
});
""".replace("{hold}", json.dumps(HOLD_COMMAND))
_REPORTING = {"plugin": ["file://{report_pipe}.js"]}
_WATCH = json.dumps(_REPORTING)
_SERVER = {"type": "remote", "url": TOOLS_URL, "enabled": True, "oauth": False}
_TOOLS = json.dumps({**_REPORTING, "mcp": {"atoll": _SERVER}})
_PROGRAM = {"type": "local", "command": [TOOLS_PROGRAM], "enabled": True}
_TOOLS_STDIO = json.dumps({**_REPORTING, "mcp": {"atoll": _PROGRAM}})

# As a machine it asks before each act, and the conversation allows what nobody is to be asked.
_ASKING = 'OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask"}'

AGENT = Agent(
    name="opencode",
    command="opencode",
    argv=("opencode",),
    task_argv=("opencode", "run", "--format", "json"),
    resume_argv=("opencode", "--continue"),
    conversation_argv=("opencode", "--session"),
    package=Package(
        registry="npm",
        name="opencode-ai",
        version="1.18.33",
        # The baseline build runs on every processor of its kind.
        programs=(
            "node_modules/opencode-linux-*-baseline/bin/opencode",
            "node_modules/opencode-linux-*/bin/opencode",
        ),
        about_mib=353,
    ),
    providers=("openai", "anthropic"),
    state=(".local/share/opencode", ".config/opencode"),
    transcripts=".local/share/opencode/opencode.db",
    env=(
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ),
    seeds=(
        Seed(".config/opencode/opencode.json", _CONFIG),
        Seed(".config/opencode/package-lock.json", _LOCK),
        Seed(".config/opencode/node_modules/README", _MODULES),
    ),
    watch_files=(WatchFile(".js", _PLUGIN), WatchFile(".json", _WATCH, "OPENCODE_CONFIG")),
    transcript="opencode",
    held="opencode",
    prompt_argv=("--prompt",),
    machine=Machine(protocol="acp", argv=("env", _ASKING, "opencode", "acp"), conversation_argv=()),
    own_hosts=("models.dev", "models.opencode.ai", "opencode.ai"),
    mcp=AgentTools(
        files=(WatchFile(".json", _TOOLS, "OPENCODE_CONFIG"),),
        machine_url=TOOLS_URL,
        machine_argv=(TOOLS_PROGRAM,),
    ),
    mcp_stdio=AgentTools(
        files=(WatchFile(".json", _TOOLS_STDIO, "OPENCODE_CONFIG"),),
        machine_argv=(TOOLS_PROGRAM,),
    ),
)
