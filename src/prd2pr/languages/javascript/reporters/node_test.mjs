// Runs one test file of node:test in this process. The reporter is installed before the project is loaded.
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { entered } from "./node_report.mjs";
import { describeError, parameters, report } from "./result_pipe.mjs";

const FIRST = "is there";
test(FIRST, () => {});
await entered;
process.argv.splice(1, process.argv.length, parameters.file);
try {
  await import(pathToFileURL(parameters.file).href);
  report({ event: "loaded" });
} catch (error) {
  report({ event: "load", error: describeError(error) });
}
