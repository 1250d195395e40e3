// What both TypeScript clients do with a script: play its steps on a connected client, say what was seen.
// One JSON object a line; `tests/real/peers.py` describes both languages.
import { createRequire } from "node:module";

export const script = JSON.parse(process.argv[2]);
export const require = createRequire(`${script.modules}/`); // ESM imports ignore NODE_PATH
export const say = (saw, more = {}) => process.stdout.write(JSON.stringify({ saw, ...more }) + "\n");

const METHODS = {
  "completion/complete": "complete",
  "logging/setLevel": "setLoggingLevel",
  "prompts/get": "getPrompt",
  "prompts/list": "listPrompts",
  "resources/list": "listResources",
  "resources/read": "readResource",
  "resources/subscribe": "subscribeResource",
  "resources/templates/list": "listResourceTemplates",
  "tools/list": "listTools",
};

const notified = []; // methods seen and not awaited yet
let wake = () => {};

export function capabilities() {
  const names = Object.keys(script.answers ?? {}).map((method) => method.split("/")[0]);
  return Object.fromEntries(names.map((name) => [name, {}]));
}

export function answer(method) {
  return async (request) => {
    say("asked", { method, params: request.params });
    return script.answers[method];
  };
}

export async function heard(notification) {
  say("notification", { method: notification.method, params: notification.params });
  notified.push(notification.method);
  wake();
}

async function wait(method) {
  while (!notified.includes(method)) await new Promise((resolve) => (wake = resolve));
  notified.splice(notified.indexOf(method), 1);
}

async function take(client, callTool, step, number) {
  if (step.await) return wait(step.await);
  const options = {};
  const cancel = new AbortController();
  if (step.progress || step.cancel) {
    options.signal = cancel.signal;
    options.onprogress = (progress) => {
      say("progress", { step: number, ...progress });
      if (step.cancel) cancel.abort("the script says so");
    };
  }
  if (step.do === "tools/call") return callTool(step.params, options);
  return client[METHODS[step.do]](step.do === "logging/setLevel" ? step.params.level : step.params, options);
}

export async function play(client, callTool) {
  for (const [number, step] of script.steps.entries()) {
    try {
      say("result", { step: number, result: await take(client, callTool, step, number) });
    } catch (error) {
      say("error", { step: number, code: error.code, message: error.message ?? String(error), data: error.data });
    }
  }
  await client.close();
  say("closed");
}
