; Findings about whole JavaScript test files and their helpers.
; Names: `asserts` has the assertion objects, `tested` the strings that name modules that must not be mocked.

((call_expression function: (_) @callee) @RED304
  (#any-of? @callee "process.exit" "process.abort" "process.kill" "process.reallyExit")
  (#set! message "`{callee}` ends the whole run"))
((call_expression function: (_) @callee) @RED107
  (#match? @callee "^process\\.(exitCode|on$|once$)|syncBuiltinESMExports$|^(syncBuiltinESMExports|vi\\.setConfig|jest\\.retryTimes)")
  (#set! message "`{callee}` interferes with the test results"))
([(assignment_expression left: (_) @target) (augmented_assignment_expression left: (_) @target)] @RED107
  (#match? @target "^process\\.exitCode")
  (#set! message "sets `{target}` interferes with the test results"))
([(assignment_expression left: (member_expression) @target)
  (augmented_assignment_expression left: (member_expression) @target)] @RED107
  (#first-word-in? @target "asserts")
  (#set! message "sets `{target}` interferes with the test results"))
((call_expression function: (_) @callee arguments: (arguments (string) @module)) @RED405
  (#match? @callee "(^|\\.)(mock|doMock|setMock|unstable_mockModule|mockModule)$|^mock\\.module$")
  (#first? @module) (#in? @module "tested")
  (#set! message "`{callee}` replaces the tested module"))
((call_expression function: (_) @callee) @RED505
  (#eq? @callee "Math.random")
  (#set! message "depends on `Math.random()`"))
