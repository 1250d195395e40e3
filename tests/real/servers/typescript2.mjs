// A server on the TypeScript SDK 2.x that speaks both eras: it asks, it counts with progress, it grows a tool.
// Started as `node typescript2.mjs MODULES_FOLDER`, or as `node typescript2.mjs MODULES_FOLDER POSTURE PORT` for one over
// HTTP, where POSTURE says what legacy clients get: "stateless" or "reject".
import { createRequire } from "node:module";

const require = createRequire(`${process.argv[2]}/`); // ESM imports ignore NODE_PATH
const modules = require("@modelcontextprotocol/server");
const { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } = modules;
const [legacy, port] = process.argv.slice(3);
let handler;
let isGrown = false; // over HTTP there is a server for each request

const ask = { message: "Your name?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
const text = (said) => ({ content: [{ type: "text", text: said }] });

const factory = ({ era }) => {
  const server = new McpServer({ name: "typescript-2-server", version: "1.0.0" });
  const tool = (name, handler, properties = {}) =>
    server.registerTool(
      name,
      { description: `Does ${name}.`, inputSchema: fromJsonSchema({ type: "object", properties }) },
      handler,
    );

  tool("ask", async (_args, ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "who");
    if (answer === undefined) return inputRequired({ inputRequests: { who: inputRequired.elicit(ask) } });
    return text(`hello ${answer.name}`);
  });
  const count = async ({ to }, ctx) => {
    for (let progress = 1; progress <= to; progress++) {
      const { progressToken } = ctx.mcpReq._meta ?? {};
      const params = { progressToken, progress, total: to };
      if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params });
      await new Promise((resolve) => setImmediate(resolve));
      if (ctx.mcpReq.signal.aborted) return text("stopped");
    }
    return text(`counted to ${to}`);
  };
  tool("count", count, { to: { type: "integer" } });
  tool("era", async () => text(era));
  tool("grow", async () => {
    isGrown = true;
    if (handler === undefined) grown();
    else handler.notify.toolsChanged();
    return text("grown");
  });
  const grown = () => tool("grown", async () => text("a new tool"));
  if (isGrown) grown();
  return server;
};

if (port === undefined) {
  const { serveStdio } = require("@modelcontextprotocol/server/stdio");
  serveStdio(factory);
} else {
  const { createServer } = require("node:http");
  const { toNodeHandler } = require("@modelcontextprotocol/node");
  handler = createMcpHandler(factory, { legacy });
  createServer(toNodeHandler(handler)).listen(Number(port), "127.0.0.1");
}
