// A reporter of node:test that belongs to the first who asks for it: node itself, before the project is loaded.
import { tell, told } from "./telling.mjs";

let begun;
export const entered = new Promise((resolve) => {
  begun = resolve;
});
let taken = false;

export default async function* report(source) {
  if (taken) {
    tell({ event: "problem", what: "the reporter was asked for a second time" });
    return;
  }
  taken = true;
  begun();
  const titles = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      titles.length = data.nesting;
      titles[data.nesting] = data.name;
    } else if (type === "test:pass" || type === "test:fail") {
      finish(type, data, titles);
    }
  }
  tell({ event: "end" });
}

function finish(type, data, titles) {
  const details = data.details ?? {};
  const error = details.error;
  let chain = "";
  for (let at = 0; at < data.nesting; at += 1) chain += String(titles[at]) + "\0";
  tell({
    event: details.type === "suite" ? "suite" : "test",
    titles: chain + String(data.name),
    outcome: type === "test:pass" ? "passed" : "failed",
    skipped: data.skip !== undefined && data.skip !== false,
    todo: data.todo !== undefined && data.todo !== false,
    seconds: (details.duration_ms ?? 0) / 1000,
    failure: error?.failureType ?? "",
    error: error ? told(error.cause ?? error) : null,
  });
}
