// A server on the TypeScript SDK 2.x that speaks both eras: it asks, it counts with progress, it grows a tool.
// Started as `node typescript2.mjs MODULES_FOLDER`.
import { createRequire } from "node:module";

const require = createRequire(`${process.argv[2]}/`); // ESM imports ignore NODE_PATH
const { McpServer, acceptedContent, fromJsonSchema, inputRequired } = require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");

const ask = { message: "Your name?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
const text = (said) => ({ content: [{ type: "text", text: said }] });

serveStdio(({ era }) => {
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
    tool("grown", async () => text("a new tool"));
    return text("grown");
  });
  return server;
});
