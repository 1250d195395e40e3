// A client built on the TypeScript SDK 1.x, which speaks the legacy era only.
import { answer, capabilities, heard, play, require, say, script } from "./steps.mjs";

const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport, getDefaultEnvironment } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = require("@modelcontextprotocol/sdk/types.js");

const SCHEMAS = {
  "elicitation/create": ElicitRequestSchema,
  "roots/list": ListRootsRequestSchema,
  "sampling/createMessage": CreateMessageRequestSchema,
};

const client = new Client({ name: "typescript-1", version: "1.0.0" }, { capabilities: capabilities() });
for (const method of Object.keys(script.answers ?? {})) client.setRequestHandler(SCHEMAS[method], answer(method));
client.fallbackNotificationHandler = heard;

const [command, ...args] = script.command;
const env = { ...getDefaultEnvironment(), ...script.env };
const transport = new StdioClientTransport({ command, args, env, stderr: "inherit" });
await client.connect(transport);
say("connected", {
  protocol: transport.protocolVersion ?? null, // not kept by this SDK on stdio
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
});
await play(client, (params, options) => client.callTool(params, undefined, options));
