// The jest reporter. It runs in the main process; tests run in their own contexts or processes.
import { describeError, report } from "./result_pipe.mjs";

export default class JestReporter {
  onTestResult(_, result) {
    const file = result.testFilePath;
    for (const test of result.testResults) {
      const detail = test.failureDetails?.[0];
      const error = detail?.error ?? detail ?? null;
      const failed = test.status === "failed";
      const shown = failed ? describeError(error ?? {}) : null;
      if (shown && !shown.stack) shown.stack = String(test.failureMessages?.[0] ?? "");
      if (shown && !shown.message) shown.message = String(test.failureMessages?.[0] ?? "");
      report({
        event: "test",
        file,
        titles: [...test.ancestorTitles, test.title].join("\0"),
        outcome: test.status,
        seconds: (test.duration ?? 0) / 1000,
        error: shown,
      });
    }
    const broken = result.testExecError;
    if (broken) {
      const error = describeError(broken);
      if (!error.message) error.message = String(result.failureMessage ?? "");
      report({ event: "load", file, error });
    } else {
      report({ event: "loaded", file });
    }
  }

  onRunComplete() {
    report({ event: "end" });
  }
}
