// A reporter of vitest. It lives in the main process, where no code of the project's modules and tests is loaded.
import { tell, told } from "./telling.mjs";

function chain(task) {
  const titles = [task.name];
  for (let up = task.parent; up && up.type === "suite"; up = up.parent) titles.unshift(up.name);
  return titles.join("\0");
}

export default class Report {
  onInit(vitest) {
    tell({ event: "tool", name: "vitest", version: String(vitest?.version ?? "") });
  }

  onTestCaseResult(test) {
    const result = test.result();
    tell({
      event: "test",
      file: test.module.moduleId,
      titles: chain(test),
      outcome: result.state,
      expected: Boolean(test.options?.fails),
      seconds: (test.diagnostic()?.duration ?? 0) / 1000,
      error: result.errors?.length ? told(result.errors[0]) : null,
    });
  }

  onTestSuiteResult(suite) {
    for (const error of suite.errors()) {
      tell({ event: "suite", file: suite.module.moduleId, titles: chain(suite), error: told(error) });
    }
  }

  onTestModuleEnd(module) {
    const errors = module.errors();
    if (errors.length) tell({ event: "load", file: module.moduleId, error: told(errors[0]) });
    else tell({ event: "loaded", file: module.moduleId });
  }

  onTestRunEnd(_, errors) {
    for (const error of errors ?? []) tell({ event: "unhandled", error: told(error) });
    tell({ event: "end" });
  }
}
