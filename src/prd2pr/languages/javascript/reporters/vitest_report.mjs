// The vitest reporter. It runs in the main process, which does not load the project's modules and tests.
import { describeError, report } from "./result_pipe.mjs";

function joinTitles(task) {
  const titles = [task.name];
  for (let up = task.parent; up && up.type === "suite"; up = up.parent) titles.unshift(up.name);
  return titles.join("\0");
}

export default class VitestReporter {
  onInit(vitest) {
    report({ event: "tool", name: "vitest", version: String(vitest?.version ?? "") });
  }

  onTestCaseResult(test) {
    const result = test.result();
    report({
      event: "test",
      file: test.module.moduleId,
      titles: joinTitles(test),
      outcome: result.state,
      expected: Boolean(test.options?.fails),
      seconds: (test.diagnostic()?.duration ?? 0) / 1000,
      error: result.errors?.length ? describeError(result.errors[0]) : null,
    });
  }

  onTestSuiteResult(suite) {
    for (const error of suite.errors()) {
      report({ event: "suite", file: suite.module.moduleId, titles: joinTitles(suite), error: describeError(error) });
    }
  }

  onTestModuleEnd(module) {
    const errors = module.errors();
    if (errors.length) report({ event: "load", file: module.moduleId, error: describeError(errors[0]) });
    else report({ event: "loaded", file: module.moduleId });
  }

  onTestRunEnd(_, errors) {
    for (const error of errors ?? []) report({ event: "unhandled", error: describeError(error) });
    report({ event: "end" });
  }
}
