; Findings in Rust source. Each capture names a finding code.
; If several patterns match a node, the first one counts.
; Flag: `program` is a file that may read its arguments, such as main.rs.

; --- detects tests
((macro_invocation macro: (_) @macro) @GRN401
  (#match? @macro "(^|::)cfg$") (#match? @GRN401 "\\btest\\b")
  (#set! message "detects tests with `cfg!(test)`"))
((macro_invocation macro: (_) @macro) @GRN401
  (#match? @macro "(^|::)option_env$")
  (#match? @GRN401 "\"(CARGO\\w*|RUST_TEST\\w*|RUSTC_BOOTSTRAP|NEXTEST\\w*|RUST_BACKTRACE)\"")
  (#set! message "reads {GRN401:.60}"))
((string_literal) @GRN401
  (#match? @GRN401 "^\"(--exact|--test-threads.*|--nocapture|.*/deps/.*|/proc/self.*)\"$")
  (#set! message "contains an option or path of test runs: {GRN401:.60}"))
((string_literal) @GRN411
  (#match? @GRN411 "[\"/]tests/")
  (#set! message "refers to {GRN411:.60}, which belongs to the tests"))
((call_expression function: (_) @callee arguments: (_) @given) @GRN401
  (#match? @callee "env::vars?(_os)?$")
  (#match? @given "\"(CARGO\\w*|RUST_TEST\\w*|RUSTC_BOOTSTRAP|NEXTEST\\w*|RUST_BACKTRACE)\"")
  (#set! message "reads {given:.60}, which is set in test runs"))
((call_expression function: (_) @callee) @GRN401
  (#match? @callee "env::vars(_os)?$") (#in-function-with? @callee "\"(CARGO|RUST|NEXTEST)\\w*\"")
  (#set! message "iterates over the environment for variables that are set in test runs"))
((call_expression function: (_) @callee arguments: (_) @given) @GRN414
  (#match? @callee "env::vars?(_os)?$") (#match? @given "\"(CI|GITHUB_ACTIONS|TESTING|TEST)\"")
  (#set! message "reads {given:.60}"))
((call_expression function: (_) @callee) @GRN401
  (#match? @callee "env::(current_exe|args|args_os)$") (#not-flag? @callee "program")
  (#set! message "reads how the program was started (`{callee}`)"))
((call_expression function: (_) @callee) @GRN401
  (#match? @callee "(?s)thread::current.*\\.name$")
  (#set! message "reads the thread's name, which in a test run is the test's name"))
((call_expression function: (_) @callee) @GRN403
  (#match? @callee "(^|::)(Location::caller|Backtrace::(capture|force_capture|new))$")
  (#set! message "inspects its callers with `{callee}`"))

; --- hides failures or ends the process
((call_expression function: (_) @callee) @GRN415
  (#match? @callee "(^|::)(set_hook|take_hook)$")
  (#set! message "`{callee}` hides panics from the tests"))
((call_expression function: (_) @callee) @GRN409
  (#match? @callee "catch_unwind$")
  (#set! message "catches panics"))
((call_expression function: (_) @callee) @GRN404
  (#match? @callee "(^|::)(process::(exit|abort)|_exit)$") (#not-flag? @callee "program")
  (#set! message "`{callee}` ends the calling process"))
