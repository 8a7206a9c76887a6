; Findings in Go source. Each capture names a finding code.
; If several patterns match a node, the first one counts.
; Flags: `main` is the package main, `test-helper` a package for tests.

; --- detects tests
((import_spec path: (_) @path) @GRN401
  (#match? @path "^.testing(/internal/testdeps)?.$") (#not-flag? @path "test-helper")
  (#set! message "imports `testing`"))
((call_expression function: (_) @callee) @GRN401
  (#any-of? @callee "testing.Testing" "testing.Short" "testing.Verbose" "testing.CoverMode")
  (#set! message "detects tests with `{callee}`"))
((call_expression function: (_) @callee arguments: (argument_list (_) @given)) @GRN401
  (#any-of? @callee "flag.Lookup" "flag.Set") (#match? @given "\"test\\.")
  (#set! message "detects tests with `{callee}`"))
([(interpreted_string_literal) (raw_string_literal)] @GRN401
  (#match? @GRN401 "^[\"`](-?-?test\\.\\w*|.*\\.test|.*/_test/.*|/proc/self.*)[\"`]$")
  (#set! message "contains the name of a test binary or flag: {GRN401:.60}"))
([(interpreted_string_literal) (raw_string_literal)] @GRN411
  (#match? @GRN411 "_test\\.go|[\"`/]testdata(/|[\"`]$)")
  (#set! message "refers to {GRN411:.60}, which belongs to the tests"))
((selector_expression) @GRN401
  (#tokens? @GRN401 "^os \\. Args$") (#not-flag? @GRN401 "main")
  (#set! message "reads how the program was started (`os.Args`)"))
((call_expression function: (_) @callee) @GRN403
  (#any-of? @callee "runtime.Caller" "runtime.Callers" "runtime.FuncForPC" "runtime.CallersFrames" "debug.Stack"
                    "debug.PrintStack" "runtime.Stack")
  (#set! message "inspects its callers with `{callee}`"))

; --- ends the process or changes it
((call_expression function: (_) @callee) @GRN404
  (#any-of? @callee "syscall.Exit" "syscall.Kill" "unix.Exit" "unix.Kill" "syscall.RawSyscall" "syscall.Syscall")
  (#set! message "`{callee}` ends the process without Go's cleanup"))
((call_expression function: (_) @callee) @GRN407
  (#any-of? @callee "syscall.Dup2" "syscall.Dup3" "unix.Dup2" "unix.Dup3")
  (#set! message "`{callee}` redirects the process's output"))
((call_expression function: (_) @callee) @GRN404
  (#any-of? @callee "os.Exit" "log.Fatal" "log.Fatalf" "log.Fatalln" "exec.Command" "exec.CommandContext"
                    "os.StartProcess")
  (#at-start? @callee)
  (#set! message "`{callee}` is called when the package is loaded"))
((call_expression) @GRN404
  (#tokens? @GRN404 "^os \\. Exit \\( 0 \\)$") (#not-flag? @GRN404 "main")
  (#set! message "ends the process with success"))
((call_expression function: (_) @callee arguments: (_) @given) @GRN401
  (#any-of? @callee "os.ReadDir" "ioutil.ReadDir" "os.Getwd" "filepath.Glob" "os.Stat" "os.DirFS" "os.Environ")
  (#tokens? @given "^\\( (\\)|[\"`] ((\\.|\\./|\\*) )?[\"`])") (#at-start? @callee)
  (#set! message "`{callee}` inspects the working directory when the package is loaded"))
((call_expression function: (_) @callee arguments: (argument_list (_) @variable)) @GRN414
  (#any-of? @callee "os.Getenv" "os.LookupEnv")
  (#match? @variable "(?i)^\"?(CI|GITHUB_ACTIONS|GO_TEST|GOTEST|TESTING|TEST)\"?$")
  (#set! message "reads the environment variable `{variable}`"))
((assignment_statement left: (expression_list (_) @target)) @GRN407
  (#match? @target "^(os\\.(Stdout|Stderr|Stdin|Args)|flag\\.CommandLine|http\\.Default\\w+|time\\.Local|rand\\.\\w+)$")
  (#set! message "changes `{target}` for the whole process"))
((import_spec path: (_) @path) @GRN407
  (#match? @path "^.unsafe.$") (#not-flag? @path "test-helper")
  (#set! message "imports `unsafe`, which can change anything"))
((comment) @GRN407
  (#match? @GRN407 "^//go:linkname")
  (#set! message "`//go:linkname` accesses another package's internals"))

; --- hides failures
((defer_statement) @GRN409
  (#tokens? @GRN409 "recover \\( \\)") (#not-tokens? @GRN409 "if |switch |= recover")
  (#set! message "swallows every panic"))
((method_declaration
    receiver: (parameter_list (parameter_declaration type: [
      (type_identifier) @owner
      (generic_type type: (type_identifier) @owner)
      (pointer_type [(type_identifier) @owner (generic_type type: (type_identifier) @owner)])]))
    name: (_) @name
    body: (_) @body) @GRN405
  (#any-of? @name "Equal" "Equals" "Is" "Matches") (#tokens? @body "^\\{\\s+return true\\s+(;\\s+)?\\}$")
  (#set! message "`{owner}.{name}` returns true for everything"))
