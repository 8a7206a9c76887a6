// Runs one test file of node:test in this process. The reporter stands before anything of the project is loaded.
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { entered } from "./node_report.mjs";
import { parameters, tell, told } from "./telling.mjs";

const FIRST = "is there";
test(FIRST, () => {});
await entered;
process.argv.splice(1, process.argv.length, parameters.file);
try {
  await import(pathToFileURL(parameters.file).href);
  tell({ event: "loaded" });
} catch (error) {
  tell({ event: "load", error: told(error) });
}
