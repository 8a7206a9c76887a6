; Findings in JavaScript and TypeScript source. Each capture names a finding code.
; If several patterns match a node, the first one counts.

; --- detects tests
((member_expression) @GRN401
  (#member? @GRN401 "^import\\.meta\\.vitest$")
  (#set! message "reads `import.meta.vitest`"))
((member_expression) @GRN401
  (#member? @GRN401 "^process\\.(execArgv|argv0)$")
  (#set! message "reads `{GRN401}`, how the program was started"))
((member_expression property: (_) @name) @GRN401
  (#member? @GRN401 "^process\\.env\\.")
  (#any-of? @name "VITEST" "VITEST_WORKER_ID" "VITEST_POOL_ID" "VITEST_MODE" "JEST_WORKER_ID" "NODE_TEST_CONTEXT"
                  "NODE_TEST_WORKER_ID" "npm_lifecycle_event" "TEST")
  (#set! message "reads `process.env.{name}`"))
((member_expression property: (_) @name) @GRN414
  (#member? @GRN414 "^process\\.env\\.") (#any-of? @name "NODE_ENV" "CI" "GITHUB_ACTIONS")
  (#set! message "reads `process.env.{name}`"))
((subscript_expression object: (_) @owner index: (_) @index) @GRN401
  (#member? @owner "^process\\.env$")
  (#strings? @index "^(VITEST(_WORKER_ID|_POOL_ID|_MODE)?|JEST_WORKER_ID|NODE_TEST_(CONTEXT|WORKER_ID)|npm_lifecycle_event|TEST)$")
  (#set! message "reads `{GRN401}`"))
((subscript_expression object: (_) @owner index: (_) @index) @GRN414
  (#member? @owner "^process\\.env$") (#strings? @index "^(NODE_ENV|CI|GITHUB_ACTIONS)$")
  (#set! message "reads `{GRN414}`"))
((member_expression) @GRN401
  (#member? @GRN401 "^(globalThis|global|window)\\.(vi|jest|describe|it|expect|beforeEach|__vitest_worker__|__coverage__)$")
  (#set! message "reads `{GRN401}`"))
((subscript_expression object: (_) @owner index: (_) @index) @GRN401
  (#any-of? @owner "globalThis" "global" "window")
  (#strings? @index "^(vi|jest|describe|it|expect|beforeEach|__vitest_worker__|__coverage__)$")
  (#set! message "reads `{GRN401}`"))
((unary_expression operator: "typeof" argument: (_) @name) @GRN401
  (#any-of? @name "vi" "jest" "describe" "it" "expect" "beforeEach" "__vitest_worker__" "__coverage__")
  (#set! message "checks whether `{name}` exists"))
((member_expression) @GRN403
  (#member? @GRN403 "^(Error\\.(captureStackTrace|prepareStackTrace)$|arguments\\.callee)")
  (#set! message "inspects its callers with `{GRN403:.60}`"))
((member_expression object: (_) @error property: (_) @name) @GRN403
  (#eq? @name "stack") (#made-here? @error)
  (#set! message "reads `{GRN403:.60}`, which names its callers"))
((string (string_fragment) @value) @GRN411
  (#strings? @GRN411 "\\.(test|spec)\\.[cm]?[jt]sx?$|__(tests|snapshots)__/|\\.snap$|_held_out")
  (#set! message "refers to `{value:.60}`, which belongs to the tests"))
((string (string_fragment) @value) @GRN411
  (#strings? @GRN411 "(^|/)(tests?|__tests__|__snapshots__|spec)/|\\.(test|spec)\\.|\\.snap$|_held_out") (#read? @GRN411)
  (#set! message "refers to `{value:.60}`, which belongs to the tests"))
((comment) @GRN408
  (#match? @GRN408 "\\b(istanbul|c8|v8)\\s+ignore\\b")
  (#set! message "excludes lines from coverage"))

; --- ends the process or changes it
((call_expression function: (_) @callee) @GRN404
  (#any-of? @callee "process.exit" "process.abort" "process.reallyExit" "process.kill") (#on-import? @callee)
  (#set! message "`{callee}` ends the process when the file is loaded"))
((call_expression function: (_) @callee arguments: (arguments (string) @event)) @GRN404
  (#any-of? @callee "process.on" "process.once") (#strings? @event "^(exit|beforeExit)$") (#on-import? @callee)
  (#set! message "runs code when the process ends"))
((call_expression function: (_) @callee arguments: (arguments (string) @event) @given) @GRN404
  (#any-of? @callee "process.on" "process.once") (#strings? @event "^(exit|beforeExit)$")
  (#match? @given "exit\\(|exitCode")
  (#set! message "runs code when the process ends"))
((call_expression function: (_) @callee) @GRN404
  (#match? @callee "(?s)^(?=.*(\\.exec|\\.spawn|execSync|spawnSync|fork)$)(.*child_process|(cp|exec|execSync|spawnSync|fork)(\\.|$))")
  (#on-import? @callee)
  (#set! message "`{callee}` starts a program when the file is loaded"))
((assignment_expression left: (_) @target) @GRN404
  (#member? @target "^process\\.exitCode") (#on-import? @target)
  (#set! message "sets the exit status when the file is loaded"))
((call_expression function: (_) @callee arguments: (arguments (_) @target)) @GRN407
  (#any-of? @callee "Object.defineProperty" "Object.assign" "Object.setPrototypeOf" "Reflect.set")
  (#first? @target) (#standard? @target ".")
  (#set! message "changes `{target}` for the whole process"))
((call_expression function: (_) @callee) @GRN407
  (#match? @callee "(^|\\.)syncBuiltinESMExports$")
  (#set! message "changes modules of node for the whole process"))
([(assignment_expression left: (_) @target) (augmented_assignment_expression left: (_) @target)] @GRN407
  (#not-member? @target "^process\\.(exitCode|env|title)") (#standard? @target)
  (#set! message "changes `{target:.60}` for the whole process"))

; --- equals everything, hides failures
((new_expression constructor: (_) @class) @GRN406
  (#eq? @class "Proxy") (#top-level? @class)
  (#set! message "a proxy answers any property"))
([(method_definition name: (_) @name) (pair key: (_) @name)] @GRN405
  (#match? @name "^['\"\\[]*(asymmetricMatch|\\$\\$typeof)['\"\\]]*$")
  (#set! message "`{name}` makes it equal to any expected value"))
((catch_clause body: (_) @body) @GRN409
  (#empty? @body)
  (#set! message "an error is caught and ignored"))
