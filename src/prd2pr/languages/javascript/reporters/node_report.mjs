// The node:test reporter. It serves only its first caller: node itself, before the project is loaded.
import { describeError, report } from "./result_pipe.mjs";

let resolveEntered;
export const entered = new Promise((resolve) => {
  resolveEntered = resolve;
});
let isStarted = false;

export default async function* reportEvents(source) {
  if (isStarted) {
    report({ event: "problem", what: "the reporter was started a second time" });
    return;
  }
  isStarted = true;
  resolveEntered();
  const titles = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      titles.length = data.nesting;
      titles[data.nesting] = data.name;
    } else if (type === "test:pass" || type === "test:fail") {
      reportTest(type, data, titles);
    }
  }
  report({ event: "end" });
}

function reportTest(type, data, titles) {
  const details = data.details ?? {};
  const error = details.error;
  let chain = "";
  for (let at = 0; at < data.nesting; at += 1) chain += String(titles[at]) + "\0";
  report({
    event: details.type === "suite" ? "suite" : "test",
    titles: chain + String(data.name),
    outcome: type === "test:pass" ? "passed" : "failed",
    skipped: data.skip !== undefined && data.skip !== false,
    todo: data.todo !== undefined && data.todo !== false,
    seconds: (details.duration_ms ?? 0) / 1000,
    failure: error?.failureType ?? "",
    error: error ? describeError(error.cause ?? error) : null,
  });
}
