// A reporter of jest. It lives in the main process; tests run in contexts or processes of their own.
import { tell, told } from "./telling.mjs";

export default class Report {
  onTestResult(_, result) {
    const file = result.testFilePath;
    for (const test of result.testResults) {
      const detail = test.failureDetails?.[0];
      const error = detail?.error ?? detail ?? null;
      const failed = test.status === "failed";
      const shown = failed ? told(error ?? {}) : null;
      if (shown && !shown.stack) shown.stack = String(test.failureMessages?.[0] ?? "");
      if (shown && !shown.message) shown.message = String(test.failureMessages?.[0] ?? "");
      tell({
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
      const error = told(broken);
      if (!error.message) error.message = String(result.failureMessage ?? "");
      tell({ event: "load", file, error });
    } else {
      tell({ event: "loaded", file });
    }
  }

  onRunComplete() {
    tell({ event: "end" });
  }
}
