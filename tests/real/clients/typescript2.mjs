// A client built on the TypeScript SDK 2.x. `mode`: absent for the SDK's default, "auto", or {"pin": REVISION}.
import { answer, capabilities, heard, play, require, say, script } from "./steps.mjs";

const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport, getDefaultEnvironment } = require("@modelcontextprotocol/client/stdio");

const versionNegotiation = script.mode === undefined ? undefined : { mode: script.mode };
const client = new Client(
  { name: "typescript-2", version: "1.0.0" },
  { capabilities: capabilities(), versionNegotiation },
);
for (const method of Object.keys(script.answers ?? {})) client.setRequestHandler(method, answer(method));
client.fallbackNotificationHandler = heard;

const [command, ...args] = script.command;
const env = { ...getDefaultEnvironment(), ...script.env };
const transport = new StdioClientTransport({ command, args, env, stderr: "inherit" });
await client.connect(transport);
const protocol = client.getNegotiatedProtocolVersion();
say("connected", {
  protocol,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
});
if (script.listen && protocol >= "2026") {
  const subscription = await client.listen(script.listen);
  say("listening", { honored: subscription.honoredFilter ?? null });
}
await play(client, (params, options) => client.callTool(params, options));
